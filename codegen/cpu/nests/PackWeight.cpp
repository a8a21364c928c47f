//===- PackWeight.cpp - weights to panels [N / NR][K][NR] -----------------===//
//
// Runs once, when a program starts, over every weight: it is bound by memory.
// Weights [out, in] go through squares of vector registers that are transposed
// there, weights [in, out] are copied vector by vector; narrow ones are rounded
// on the way. For Winograd's inner product the panel is then scaled where it
// stands, in the cache.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Int4.h"
#include "codegen/cpu/linear/Integers.h"
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NarrowWeight.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "codegen/math/VectorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t kEight = 8; // weights that share words
static_assert(int4::kWord == kEight && weightGroup % kEight == 0);

/// One weight and where its panels begin. With `scales` and f32 the panels are those
/// of Winograd's inner product, and their rows, `[P, rows, NR]`, start with step 0.
struct PackNest {
  WeightReader weight;
  Value scales, panels;
  Value firstPanel;
  int64_t parts; // of words of bfloat16, whose panels are one part behind the other
  bool isInt4, ahead;

  Emit &b() const { return weight.b; }
  Type element() const { return cast<MemRefType>(panels.getType()).getElementType(); }
  bool isWinograd() const { return scales && element().isF32(); }
  /// Of eight weights, or of fewer at the end; 0 where each has a row of its own.
  int64_t wordsOfEight() const {
    if (!element().isInteger(32))
      return 0;
    return isInt4 ? 1 : isBfloat16Pairs() ? kEight / 2 : kEight / integers::kBytes;
  }
  bool isBfloat16Pairs() const { return element().isInteger(32) && !scales; }
  int64_t rowsBefore() const { return isWinograd() ? winograd::kStep : 0; }
  int64_t wordsOfPart() const { return cast<MemRefType>(panels.getType()).getDimSize(1) / parts; }
  void emitOutIn(const Work &work);
  void emitInOut(const Work &work);
  void emitSome(Value lower, Value upper, int64_t most);
  void emitPanel(Value panel, int64_t rows);
  void emitPanelOfPairs(Value panel, int64_t rows);
  void emitPanels(Value panel, int64_t count, int64_t width);
  /// Vectors of a panel's columns.
  int64_t vectors() const { return llvm::divideCeil(weight.columns, b().lanes()); }
  /// So many sums at once hide the latency of each.
  static constexpr int64_t kSums = 4;
  bool isInOut() const { return weight.layout == WeightLayout::InOut; }
  void fetchAhead(int64_t lower, int64_t upper, Value panel, Value first, int64_t count) const;
  Values noSquares(int64_t panels) const;
  void store(ValueRange rows, Value to, Value first, int64_t column,
             MutableArrayRef<Value> squares);
  void finish(Value to, ValueRange squares);
  void storePairs(ValueRange rows, Value to, Value place, int64_t column);
  void clearRest(Value to);
};

} // namespace

/// Lines of the weight that are read a distance behind input `first`, beside what is done with
/// those at hand: of columns `lower` to `upper` of a panel `count` inputs each, or, where the
/// inputs are rows, of as many of them `count` columns each. Rows go into the first-level cache,
/// pieces into the second, which waits for more lines at once.
void PackNest::fetchAhead(int64_t lower, int64_t upper, Value panel, Value first,
                          int64_t count) const {
  if (!ahead)
    return;
  // The hardware fetches rows, too, but not pieces of them: those come from memory all the way.
  int64_t weights = b().target.getPrefetchBytes() / sizeof(float);
  int64_t distance = isInOut() ? weights / count : weights / 4 / weight.columns;
  Value columns = b().mul(panel, weight.columns);
  for (int64_t i = lower; i < upper; ++i)
    if (isInOut())
      b().prefetchRow(weight.weight, b().add(first, distance + i), columns, count, /*level=*/2);
    else
      b().prefetchRow(weight.weight, b().add(columns, i), b().add(first, distance), count,
                      /*level=*/1);
}

/// Where sums of the squares of panels begin, one vector of columns after the other.
Values PackNest::noSquares(int64_t panels) const {
  int64_t all = panels * vectors();
  return isWinograd() ? Values(all * llvm::divideCeil(kSums, all), b().splat(0)) : Values();
}

/// Rows of the weight, `first` and those behind it, as rows of a panel; eight may be a word or two.
/// `squares` are added to where panels need them.
void PackNest::store(ValueRange rows, Value to, Value first, int64_t column,
                     MutableArrayRef<Value> squares) {
  int64_t columns = weight.columns, lanes = std::min(b().lanes(), columns - column);
  Value place = first, scale;
  if (element().isInteger() && scales && !isInt4)
    scale = b().loadVector(scales, {to, b().index(0), b().index(column)}, lanes);
  if (int64_t words = wordsOfEight())
    place = b().mul(b().div(first, kEight), words);
  if (isBfloat16Pairs())
    return storePairs(rows, to, place, column);
  Values stored;
  if (isInt4) {
    auto halves = b().vectorType().clone(b().getBF16Type());
    Value at = b().div(first, weightGroup);
    scale = vector::LoadOp::create(b(), halves, scales, ValueRange{to, at, b().index(column)});
    stored = emitToInt4(b(), rows, arith::ExtFOp::create(b(), b().vectorType(), scale));
  } else if (wordsOfEight()) {
    stored = emitToInt8Words(b(), rows, scale);
  } else if (isWinograd()) {
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value ofFeature = b().load(scales, b().add(first, i));
      stored.push_back(b().mulf(row, b().broadcast(inverseOf(b(), ofFeature))));
      Value &sum = squares[i % squares.size()];
      sum = emitFma(b(), stored.back(), stored.back(), sum);
    }
  } else {
    for (Value row : rows)
      stored.push_back(element().isBF16()       ? emitToBf16(b(), row)
                       : element().isInteger(8) ? emitToInt8(b(), row, scale)
                                                : row);
  }
  for (auto [i, row] : llvm::enumerate(stored))
    b().storeVector(row, panels, {to, b().add(place, rowsBefore() + i), b().index(column)}, lanes);
}

/// Two a word, from word `place` of each part on; of an odd number the last with zeros.
void PackNest::storePairs(ValueRange rows, Value to, Value place, int64_t column) {
  for (size_t i = 0; i < rows.size(); i += 2) {
    Value upper = i + 1 < rows.size() ? rows[i + 1] : b().splat(0);
    for (auto [part, words] : llvm::enumerate(emitPairs(b(), rows[i], upper, parts)))
      b().storeVector(words, panels,
                      {to, b().add(place, part * wordsOfPart() + i / 2), b().index(column)},
                      std::min(b().lanes(), weight.columns - column));
  }
}

/// Behind the last row.
void PackNest::finish(Value to, ValueRange squares) {
  if (wordsOfEight())
    clearRest(to);
  if (!isWinograd())
    return;
  Values sums;
  int64_t ofVector = squares.size() / vectors();
  for (int64_t i = 0; i < vectors(); ++i)
    sums.push_back(b().sumTree(squares.slice(i * ofVector, ofVector)));
  scaleWinogradPanel(b(), panels, to, weight.inputs(), sums);
}

/// Words behind the last weight.
void PackNest::clearRest(Value to) {
  int64_t lanes = b().lanes(), words = wordsOfPart();
  Value zero = integerConstant(b(), b().vectorType(), 0);
  int64_t written = isBfloat16Pairs() ? llvm::divideCeil(weight.inputs(), 2)
                                      : llvm::divideCeil(weight.inputs(), kEight) * wordsOfEight();
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t word = written; word < words; ++word)
      for (int64_t column = 0; column < weight.columns; column += lanes)
        b().storeVector(zero, panels, {to, b().index(part * words + word), b().index(column)},
                        std::min(lanes, weight.columns - column));
}

/// The first `rows` columns of a panel from as many rows of the weight, zeros
/// in the columns behind them.
void PackNest::emitPanel(Value panel, int64_t rows) {
  if (isBfloat16Pairs() && parts == parts::kRounded)
    return emitPanelOfPairs(panel, rows);
  int64_t lanes = b().lanes(), k = weight.inputs();
  int64_t size = wordsOfEight() ? std::max(lanes, kEight) : lanes;
  Value to = b().add(panel, firstPanel);
  auto block = [&](Value first, int64_t count, ValueRange before) {
    Values squares(before);
    MutableArrayRef<Value> left(squares);
    size_t own = squares.size() / vectors();
    for (int64_t column = 0; column < weight.columns; column += lanes) {
      fetchAhead(column, std::min(column + lanes, rows), panel, first, count);
      Values square;
      for (int64_t i = 0; i < count; i += lanes)
        llvm::append_range(square, weight.read(panel, column, rows, b().add(first, i),
                                               std::min(lanes, count - i)));
      store(square, to, first, column, left.take_front(own));
      left = left.drop_front(own);
    }
    return squares;
  };
  int64_t whole = k / size * size;
  Values squares = noSquares(1);
  if (whole)
    squares = b().loop(b().index(0), b().index(whole), size, squares,
                       [&](Value first, ValueRange sums) { return block(first, size, sums); });
  if (whole < k)
    squares = block(b().index(whole), k - whole, squares);
  finish(to, squares);
}

/// Likewise, of neighbours that are rounded and share words: these are transposed, half as many as
/// there are numbers. Of numbers in parts there would be more of them.
void PackNest::emitPanelOfPairs(Value panel, int64_t rows) {
  int64_t lanes = b().lanes(), size = 2 * lanes, k = weight.inputs();
  auto wide = VectorType::get({size}, b().getF32Type());
  Value firstRow = b().mul(panel, weight.columns), to = b().add(panel, firstPanel),
        zero = integerConstant(b(), b().vectorType(), 0);
  auto block = [&](Value first, int64_t count) {
    for (int64_t column = 0; column < weight.columns; column += lanes) {
      fetchAhead(column, std::min(column + lanes, rows), panel, first, count);
      Values square;
      for (int64_t i = column; i < column + lanes; ++i) {
        auto pairs = [&] {
          Value row = loadColumns(b(), wide, weight.weight, b().add(firstRow, i), first, count);
          return emitNeighbourPairs(b(), row, parts::kRounded)[0];
        };
        square.push_back(i < rows ? pairs() : zero);
      }
      b().transposeSquare(square);
      Value word = b().div(first, 2);
      for (int64_t i = 0; i < int64_t(llvm::divideCeil(count, 2)); ++i)
        b().storeVector(square[i], panels, {to, b().add(word, i), b().index(column)},
                        std::min(lanes, weight.columns - column));
    }
  };
  int64_t whole = k / size * size;
  b().forEach(b().index(0), b().index(whole), size, [&](Value first) { block(first, size); });
  if (whole < k)
    block(b().index(whole), k - whole);
  clearRest(to);
}

void PackNest::emitOutIn(const Work &work) {
  int64_t outputs = weight.outputs(), columns = weight.columns;
  int64_t count = llvm::divideCeil(outputs, columns);
  int64_t size = Emit::itemsPerTask(weight.inputs() * columns);
  b().parallel(work, {}, b().index(llvm::divideCeil(count, size)), [&](Value task) {
    auto [lower, upper] = taskRange(b(), task, size, b().index(count));
    int64_t whole = outputs / columns;
    b().forEach(lower, b().min(upper, b().index(whole)), 1,
                [&](Value panel) { emitPanel(panel, columns); });
    if (whole < count)
      b().ifThen(b().eq(upper, b().index(count)),
                 [&] { emitPanel(b().index(whole), outputs - whole * columns); });
  });
}

/// `count` panels from `panel` on, of which the first `width` columns come from
/// the weight; all that a row holds for them at once, so that it is read in
/// long pieces.
void PackNest::emitPanels(Value panel, int64_t count, int64_t width) {
  int64_t columns = weight.columns, k = weight.inputs();
  int64_t size = wordsOfEight() ? kEight : isWinograd() ? kSums : 1;
  auto to = [&](int64_t p) { return b().add(b().add(panel, firstPanel), p); };
  auto block = [&](Value first, int64_t rows, ValueRange before) {
    Values squares(before);
    MutableArrayRef<Value> left(squares);
    size_t own = squares.size() / (count * vectors());
    int64_t turn = 0, turns = count * vectors();
    for (int64_t p = 0; p < count; ++p)
      for (int64_t column = 0; column < columns; column += b().lanes(), ++turn) {
        fetchAhead(rows * turn / turns, rows * (turn + 1) / turns, panel, first, width);
        store(weight.read(b().add(panel, p), column, width - p * columns, first, rows), to(p),
              first, column, left.take_front(own));
        left = left.drop_front(own);
      }
    return squares;
  };
  int64_t whole = k / size * size;
  Values squares = noSquares(count);
  squares = b().loop(b().index(0), b().index(whole), size, squares,
                     [&](Value first, ValueRange sums) { return block(first, size, sums); });
  if (whole < k)
    squares = block(b().index(whole), k - whole, squares);
  int64_t ofPanel = squares.size() / count;
  for (int64_t p = 0; p < count; ++p)
    finish(to(p), ArrayRef<Value>(squares).slice(p * ofPanel, ofPanel));
}

void PackNest::emitInOut(const Work &work) {
  constexpr int64_t pieceBytes = 1024; // of a row that one task reads
  int64_t outputs = weight.outputs(), columns = weight.columns;
  int64_t group = std::max<int64_t>(1, pieceBytes / (columns * sizeof(float)));
  int64_t count = llvm::divideCeil(outputs, columns), whole = outputs / (columns * group);
  b().parallel(work, {}, b().index(llvm::divideCeil(count, group)), [&](Value task) {
    Value panel = b().mul(task, group);
    auto full = [&] { emitPanels(panel, group, group * columns); };
    auto rest = [&] {
      emitPanels(panel, count - whole * group, outputs - whole * group * columns);
    };
    if (whole)
      b().ifThen(b().lt(task, b().index(whole)), full);
    if (whole * group < count)
      b().ifThen(b().eq(task, b().index(whole)), rest);
  });
}

/// The panels lower .. upper - 1, at most `most`, by the thread at hand.
void PackNest::emitSome(Value lower, Value upper, int64_t most) {
  int64_t outputs = weight.outputs(), columns = weight.columns, whole = outputs / columns;
  auto emitOne = [&](Value panel, int64_t width) {
    isInOut() ? emitPanels(panel, 1, width) : emitPanel(panel, width);
  };
  auto one = [&] {
    b().forEach(lower, b().min(upper, b().index(whole)), 1,
                [&](Value panel) { emitOne(panel, columns); });
    return Values();
  };
  if (isInOut() && most > 1) {
    Value all =
        b().both(b().eq(b().sub(upper, lower), b().index(most)), b().le(upper, b().index(whole)));
    b().ifElse(
        all, {},
        [&] {
          emitPanels(lower, most, most * columns);
          return Values();
        },
        one);
  } else {
    one();
  }
  if (int64_t rest = outputs - whole * columns)
    b().ifThen(b().both(b().lt(lower, upper), b().eq(upper, b().index(whole + 1))),
               [&] { emitOne(b().index(whole), rest); });
}

void transformer::emitNest(Emit &b, cpu::PackWeightOp op) {
  Value panels = op.getOuts()[0];
  auto type = cast<MemRefType>(panels.getType());
  int64_t columns = type.getShape().back(), most = type.getDimSize(0), before = 0;
  Value first = op.getFirst();
  bool isPairs = type.getElementType().isInteger(32) && !op.getScales();
  int64_t parts = isPairs && type.getRank() == 4 ? type.getDimSize(1) : 1;
  if (type.getRank() == 4)
    panels = memref::CollapseShapeOp::create(b, panels,
                                             ArrayRef<ReassociationIndices>{{0}, {1, 2}, {3}});
  for (Value weight : op.getWeights()) {
    Value firstPanel = b.index(before);
    if (first)
      firstPanel = b.sub(firstPanel, first);
    PackNest nest{{b, weight, op.getLayout(), columns},
                  op.getScales(),
                  panels,
                  firstPanel,
                  parts,
                  op.holdsInt4(),
                  op.getAhead()};
    int64_t count = llvm::divideCeil(nest.weight.outputs(), columns);
    before += count;
    if (first) {
      auto clamp = [&](Value place) { return b.min(b.notNegative(place), b.index(count)); };
      Value start = b.sub(first, b.index(before - count));
      nest.emitSome(clamp(start), clamp(b.add(start, most)), most);
      continue;
    }
    int64_t k = nest.weight.inputs(), outputs = nest.weight.outputs();
    std::string inputs = std::to_string(k), width = std::to_string(outputs);
    Work work{"pack_weight " + inputs + "x" + width, "K=" + inputs + " N=" + width, {}};
    int64_t written = k * type.getElementTypeBitWidth() / 8 * parts;
    if (int64_t words = nest.wordsOfEight())
      written = k * words / 2; // 4 bytes of eight weights
    work.fixedBytes = outputs * (rowBytes(k) + written);
    op.getLayout() == WeightLayout::OutIn ? nest.emitOutIn(work) : nest.emitInOut(work);
  }
}
