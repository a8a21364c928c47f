//===- SplitPanels.cpp - panels of float32 to three parts -----------------===//
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct SplitNest {
  Emit &b;
  Value panels; // [P K, NR]
  Value parts;  // [P, 3, S, NR]
  int64_t k;
  Value firstWord;
  bool ahead, inside;

  int64_t columns() const { return rowWidth(panels); }
  /// Panel `to` of the parts.
  void emitPanel(Value from, Value to) const;

private:
  /// A word of `count` rows of panels from `row` on: two, one or none.
  void emitWord(Value row, Value to, Value word, int64_t count) const;
};

} // namespace

void SplitNest::emitWord(Value row, Value to, Value word, int64_t count) const {
  // Rows lie one behind the other, of this panel and of the next ones.
  int64_t distance = b.target.getPrefetchBytes() / rowBytes(columns());
  auto type = VectorType::get({columns()}, b.getF32Type()); // a row is one, for less code
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type)), zero = b.index(0);
  Values rows(2, none);
  for (int64_t i = 0; i < count; ++i) {
    Value at = b.add(row, i);
    rows[i] = vector::LoadOp::create(b, type, panels, ValueRange{at, zero});
    if (ahead)
      b.prefetchRow(panels, b.add(at, distance), zero, columns());
  }
  for (auto [part, words] : llvm::enumerate(emitPairs(b, rows[0], rows[1], parts::kFloat32)))
    vector::StoreOp::create(b, words, parts, ValueRange{to, b.index(part), word, zero});
}

void SplitNest::emitPanel(Value from, Value to) const {
  Value first = b.mul(from, k);
  int64_t words = cast<MemRefType>(parts.getType()).getDimSize(2);
  auto emitWords = [&](Value lower, Value upper, int64_t count) { // of those that there is room for
    b.forEach(lower, upper, 1, [&](Value word) {
      Value row = b.mul(b.add(firstWord, word), 2);
      emitWord(b.add(first, row), to, word, count);
    });
  };
  if (inside)
    return emitWords(b.index(0), b.index(words), /*count=*/2);
  auto clamp = [&](int64_t word) { // of the panel
    return b.min(b.notNegative(b.sub(b.index(word), firstWord)), b.index(words));
  };
  int64_t all = llvm::divideCeil(k, 2);
  emitWords(b.index(0), clamp(k / 2), /*count=*/2);
  if (k % 2)
    emitWords(clamp(k / 2), clamp(all), /*count=*/1);
  emitWords(clamp(all), clamp(llvm::alignTo(all, words)), /*count=*/0);
}

void transformer::emitNest(Emit &b, cpu::SplitPanelsOp op) {
  auto type = cast<MemRefType>(op.getPanels().getType());
  int64_t count = type.getDimSize(0), k = type.getDimSize(1), columns = type.getDimSize(2);
  Value panels = memref::CollapseShapeOp::create(b, op.getPanels(),
                                                 ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  Value word = op.getWord() ? op.getWord() : b.index(0);
  int64_t words = cast<MemRefType>(op.getOuts()[0].getType()).getDimSize(2);
  bool isInside = op.getInside() || (!op.getWord() && k == 2 * words);
  SplitNest nest{b, panels, op.getOuts()[0], k, word, op.getAhead(), isInside};
  if (Value first = op.getFirst()) {
    int64_t most = cast<MemRefType>(op.getOuts()[0].getType()).getDimSize(0);
    if (most == 1) // of tasks of one panel each has one
      return nest.emitPanel(first, b.index(0));
    Value upper = b.min(b.index(most), b.sub(b.index(count), first));
    b.forEach(b.index(0), upper, 1, [&](Value p) { nest.emitPanel(b.add(first, p), p); });
    return;
  }
  std::string inputs = std::to_string(k), outputs = std::to_string(count * columns);
  Work work{"split_panels " + inputs + "x" + outputs, "K=" + inputs + " N=" + outputs, {}};
  work.fixedBytes = count * k * (rowBytes(columns) + 2 * parts::kFloat32 * columns);
  b.parallel(work, {}, b.index(count), [&](Value panel) { nest.emitPanel(panel, panel); });
}
