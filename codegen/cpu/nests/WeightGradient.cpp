//===- WeightGradient.cpp - a product over the tokens ---------------------===//
//
// First a becomes strips of the register tile's rows, which all tasks read. Then a task owns panels
// of b: it copies their columns, in which the tile's vectors lie side by side, and goes through all
// strips. Tokens are never divided, so a sum's order does not depend on the threads. In bfloat16 a
// step is two tokens, whose numbers share words.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class WeightGradient {
public:
  WeightGradient(Emit &b, cpu::WeightGradientOp op)
      : b(b), x(op.getA()), dy(op.getB()), c(op.getOuts()[0]), strips(op.getOuts()[1]),
        panels(op.getOuts()[2]), rows(rowWidth(x)), columns(rowWidth(dy)), height(rowWidth(strips)),
        width(rowWidth(panels)), vectors(width / b.lanes()), tokens(b.dim(x, 0)),
        element(cast<MemRefType>(strips.getType()).getElementType()), steps(b.dim(strips, 1)) {}

  void emit() {
    constexpr int64_t together = 8; // strips: neighbours share the lines of a row
    Work packing = rowWork("weight_gradient rows", "tokens", rows, 2);
    b.parallel(packing, tokens, b.index(llvm::divideCeil(rows, height * together)),
               [&](Value task) { packStrips(b.mul(task, together), together); });
    constexpr int64_t panelsOfTask = 2;
    int64_t numPanels = llvm::divideCeil(columns, width);
    Work work = rowWork("weight_gradient", "tokens", rows + columns, 1);
    work.sizes = "M=" + std::to_string(rows) + " N=" + std::to_string(columns);
    work.amounts[0].flops = 2 * rows * columns;
    work.fixedBytes = rowBytes(rows * columns);
    b.parallel(work, tokens, b.index(llvm::divideCeil(numPanels, panelsOfTask)), [&](Value task) {
      auto [lower, upper] = taskRange(b, task, panelsOfTask, b.index(numPanels));
      b.forEach(lower, upper, 1, [&](Value panel) { packPanel(panel); });
      int64_t whole = rows / height;
      b.forEach(b.index(0), b.index(whole), 1, [&](Value strip) {
        b.forEach(lower, upper, 1, [&](Value panel) { emitTile(strip, panel, height); });
      });
      if (rows % height)
        b.forEach(lower, upper, 1,
                  [&](Value panel) { emitTile(b.index(whole), panel, rows % height); });
    });
  }

private:
  /// Rows in short blocks: the lines of the strips stay in the cache until they are full.
  void packStrips(Value first, int64_t count) {
    constexpr int64_t blockTokens = 16;
    VectorType type = VectorType::get({height}, b.getF32Type());
    int64_t whole = rows / height;
    b.forEach(b.index(0), tokens, blockTokens, [&](Value begin) {
      Value end = b.min(b.add(begin, blockTokens), tokens);
      auto copy = [&](Value strip, int64_t there) {
        forEachStep(
            begin, end,
            [&](Value token) {
              return Values{loadColumns(b, type, x, token, b.mul(strip, height), there)};
            },
            [&](Value step, ValueRange v) {
              vector::StoreOp::create(b, v[0], strips, ValueRange{strip, step, b.index(0)});
            });
      };
      Value last = b.add(first, count);
      b.forEach(first, b.min(last, b.index(whole)), 1, [&](Value strip) { copy(strip, height); });
      if (rows % height)
        b.ifThen(b.both(b.le(first, b.index(whole)), b.lt(b.index(whole), last)),
                 [&] { copy(b.index(whole), rows % height); });
    });
  }

  /// The lanes of vector j of a panel that are inside of b; they differ in the last panel alone.
  void forPanelKind(Value panel, function_ref<void(int64_t there)> body) {
    int64_t whole = columns / width, rest = columns % width;
    if (!rest)
      return body(width);
    if (!whole)
      return body(rest);
    b.ifElse(
        b.lt(panel, b.index(whole)), {},
        [&] {
          body(width);
          return Values();
        },
        [&] {
          body(rest);
          return Values();
        });
  }
  int64_t lanesOf(int64_t there, int64_t j) const {
    return std::clamp<int64_t>(there - j * b.lanes(), 0, b.lanes());
  }

  void packPanel(Value panel) {
    forPanelKind(panel, [&](int64_t there) {
      forEachStep(
          b.index(0), tokens,
          [&](Value token) {
            Values row;
            for (int64_t j = 0; j < vectors; ++j) {
              Value column = b.add(b.mul(panel, width), j * b.lanes());
              row.push_back(lanesOf(there, j) ? b.loadVector(dy, {token, column}, lanesOf(there, j))
                                              : b.splat(0));
            }
            return row;
          },
          [&](Value step, ValueRange row) {
            for (int64_t j = 0; j < vectors; ++j)
              b.storeVector(row[j], panels, {panel, step, b.index(j * b.lanes())});
          });
    });
  }

  bool isPairs() const { return element.isInteger(32); }

  /// Stores what is loaded of each token in `begin .. end`, or, as pairs, of two; `begin` is even.
  void forEachStep(Value begin, Value end, function_ref<Values(Value token)> load,
                   function_ref<void(Value step, ValueRange vectors)> store) {
    if (!isPairs())
      return b.forEach(begin, end, 1, [&](Value token) { store(token, load(token)); });
    Value last = b.sub(end, b.rem(end, b.index(2)));
    b.forEach(begin, last, 2, [&](Value token) {
      Values words = load(token);
      for (auto [lower, upper] : llvm::zip_equal(words, load(b.add(token, 1))))
        lower = emitPairs(b, lower, upper);
      store(b.div(token, 2), words);
    });
    b.ifThen(b.lt(last, end), [&] { // with no other
      Values words;
      for (Value lower : load(last))
        words.append(emitPairs(b, ValueRange{lower}));
      store(b.div(last, 2), words);
    });
  }

  void emitTile(Value strip, Value panel, int64_t there) {
    VectorType type = b.vectorType().clone(element);
    Values sums =
        b.unrolledLoop(steps, Values(there * vectors, b.splat(0)), [&](Value step, Values &sums) {
          Values row;
          for (int64_t j = 0; j < vectors; ++j)
            row.push_back(vector::LoadOp::create(b, type, panels,
                                                 ValueRange{panel, step, b.index(j * b.lanes())}));
          for (int64_t i = 0; i < there; ++i) {
            Value factor = b.load(strips, {strip, step, b.index(i)});
            factor = vector::BroadcastOp::create(b, type, factor);
            for (int64_t j = 0; j < vectors; ++j) {
              Value &sum = sums[i * vectors + j];
              sum = isPairs() ? emitDotBfloat16(b, row[j], factor, sum)
                              : emitFma(b, factor, row[j], sum);
            }
          }
        });
    Value firstRow = b.mul(strip, height), firstColumn = b.mul(panel, width);
    forPanelKind(panel, [&](int64_t columnsThere) {
      for (int64_t i = 0; i < there; ++i)
        for (int64_t j = 0; j < vectors; ++j)
          if (lanesOf(columnsThere, j))
            b.storeVector(sums[i * vectors + j], c,
                          {b.add(firstRow, i), b.add(firstColumn, j * b.lanes())},
                          lanesOf(columnsThere, j));
    });
  }

  Emit &b;
  Value x, dy, c, strips, panels;
  int64_t rows, columns, height, width, vectors;
  Value tokens;
  Type element; // of strips and panels
  Value steps;
};

} // namespace

void transformer::emitNest(Emit &b, cpu::WeightGradientOp op) { WeightGradient(b, op).emit(); }
