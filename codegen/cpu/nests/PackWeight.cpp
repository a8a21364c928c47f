//===- PackWeight.cpp - weights to panels [N / NR][K][NR] -----------------===//
//
// Runs once, when a program starts, over every weight: it is bound by memory.
// Weights [out, in] go through squares of vector registers that are transposed
// there, weights [in, out] are copied vector by vector. For Winograd's inner
// product the panel is then scaled where it stands, in the cache.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// One weight and where its panels begin. With `scales` the panels are those of
/// Winograd's inner product, and their rows, `[P, rows, NR]`, start with step 0.
struct PackNest {
  Emit &b;
  Value weight, scales, panels;
  int64_t firstPanel, outputs, k, columns;

  int64_t rowsBefore() const { return scales ? winograd::kStep : 0; }
  void emitOutIn(const Work &work);
  void emitInOut(const Work &work);
  void emitPanel(Value panel, int64_t rows);
  void emitPanels(Value panel, int64_t count, int64_t width);
};

} // namespace

/// The first `rows` columns of a panel from as many rows of the weight, zeros
/// in the columns behind them.
void PackNest::emitPanel(Value panel, int64_t rows) {
  int64_t lanes = b.lanes();
  Value firstRow = b.mul(panel, columns), to = b.add(panel, firstPanel);
  auto block = [&](Value first, int64_t count) {
    for (int64_t column = 0; column < columns; column += lanes) {
      Values square;
      for (int64_t i = column; i < column + lanes; ++i)
        square.push_back(i < rows ? b.loadVector(weight, {b.add(firstRow, i), first}, count)
                                  : b.splat(0));
      b.transposeSquare(square);
      for (int64_t i = 0; i < count; ++i)
        b.storeVector(square[i], panels, {to, b.add(first, rowsBefore() + i), b.index(column)},
                      std::min(lanes, columns - column));
    }
  };
  int64_t whole = k / lanes * lanes;
  if (whole)
    b.forEach(b.index(0), b.index(whole), lanes, [&](Value first) { block(first, lanes); });
  if (whole < k)
    block(b.index(whole), k - whole);
  if (scales)
    scaleWinogradPanel(b, panels, scales, to);
}

void PackNest::emitOutIn(const Work &work) {
  int64_t count = llvm::divideCeil(outputs, columns), size = Emit::itemsPerTask(k * columns);
  b.parallel(work, {}, b.index(llvm::divideCeil(count, size)), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, b.index(count));
    int64_t whole = outputs / columns;
    b.forEach(lower, b.min(upper, b.index(whole)), 1,
              [&](Value panel) { emitPanel(panel, columns); });
    if (whole < count)
      b.ifThen(b.eq(upper, b.index(count)),
               [&] { emitPanel(b.index(whole), outputs - whole * columns); });
  });
}

/// `count` panels from `panel` on, of which the first `width` columns come from
/// the weight; all that a row holds for them at once, so that it is read in
/// long pieces.
void PackNest::emitPanels(Value panel, int64_t count, int64_t width) {
  int64_t lanes = b.lanes();
  Value firstColumn = b.mul(panel, columns), to = b.add(panel, firstPanel);
  b.forEach(b.index(0), b.index(k), 1, [&](Value row) {
    for (int64_t p = 0; p < count; ++p)
      for (int64_t column = 0; column < columns; column += lanes) {
        int64_t from = p * columns + column, there = std::clamp<int64_t>(width - from, 0, lanes);
        Value x = there ? b.loadVector(weight, {row, b.add(firstColumn, from)}, there) : b.splat(0);
        b.storeVector(x, panels, {b.add(to, p), b.add(row, rowsBefore()), b.index(column)},
                      std::min(lanes, columns - column));
      }
  });
  if (scales)
    for (int64_t p = 0; p < count; ++p)
      scaleWinogradPanel(b, panels, scales, b.add(to, p));
}

void PackNest::emitInOut(const Work &work) {
  constexpr int64_t pieceBytes = 1024; // of a row that one task reads
  int64_t group = std::max<int64_t>(1, pieceBytes / (columns * sizeof(float)));
  int64_t count = llvm::divideCeil(outputs, columns), whole = outputs / (columns * group);
  b.parallel(work, {}, b.index(llvm::divideCeil(count, group)), [&](Value task) {
    Value panel = b.mul(task, group);
    auto full = [&] { emitPanels(panel, group, group * columns); };
    auto rest = [&] {
      emitPanels(panel, count - whole * group, outputs - whole * group * columns);
    };
    if (whole)
      b.ifThen(b.lt(task, b.index(whole)), full);
    if (whole * group < count)
      b.ifThen(b.eq(task, b.index(whole)), rest);
  });
}

void transformer::emitNest(Emit &b, cpu::PackWeightOp op) {
  Value panels = op.getOuts()[0];
  auto type = cast<MemRefType>(panels.getType());
  bool outIn = op.getLayout() == WeightLayout::OutIn;
  int64_t columns = type.getShape().back(), firstPanel = 0;
  if (op.getScales())
    panels = memref::CollapseShapeOp::create(b, panels,
                                             ArrayRef<ReassociationIndices>{{0}, {1, 2}, {3}});
  for (Value weight : op.getWeights()) {
    auto weightType = cast<MemRefType>(weight.getType());
    int64_t outputs = weightType.getDimSize(outIn ? 0 : 1);
    int64_t k = weightType.getDimSize(outIn ? 1 : 0);
    PackNest nest{b, weight, op.getScales(), panels, firstPanel, outputs, k, columns};
    std::string inputs = std::to_string(k), width = std::to_string(outputs);
    Work work{"pack_weight " + inputs + "x" + width, "K=" + inputs + " N=" + width, {}};
    work.fixedBytes = 2 * outputs * rowBytes(k); // read and written
    outIn ? nest.emitOutIn(work) : nest.emitInOut(work);
    firstPanel += outputs / columns;
  }
}
