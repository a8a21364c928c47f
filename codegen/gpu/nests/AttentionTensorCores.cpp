//===- AttentionTensorCores.cpp - attention by mma.sync -------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/AttentionNest.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// All warps copy keys and values; one is on its way while the other is multiplied.
class TensorCoreAttention : public AttentionNest {
public:
  using AttentionNest::AttentionNest;

  void emit() {
    forTiles(shape.threads(), [&](Work work, Value thread) {
      AttentionMmaTile tile(b, shape, halfType(q), thread);
      findRows(tile, work);
      auto [from, end] = tilesOfKeys(work);
      Values done = attend(tile, work, from, end);
      store(tile, work, done);
    });
  }

private:
  void copyKeys(const AttentionMmaTile &tile, const Work &work, Value to, Value from,
                Value number) {
    tile.copyColumns(to, b.index(0), number, work.keys, from, [&](Value key) {
      return Vector{{from, {b.add(work.firstKey, key)}}, scores.column(work.kvHead)};
    });
  }

  Values attend(const AttentionMmaTile &tile, const Work &work, Value from, Value end) {
    Value queries = tile.vectors(shape.rows()), keys = tile.vectors(shape.columns);
    Value values = tile.vectors(shape.columns);
    tile.copy(queries, b.index(0), shape.rows(), q, /*often=*/false, [&](Value i) {
      QueryRow row = rowOf(work, i);
      return Vector{{q, {row.query}}, scores.column(row.head)};
    });
    b.ifThen(b.less(from, end), [&] { copyKeys(tile, work, keys, k, from); });
    waitForCopies(b);
    barrier(b);
    Values loaded = tile.loadRows(queries);
    return b.loop(from, end, none(), [&](Value number, ValueRange before) {
      waitForCopies(b);
      barrier(b); // keys are there, values are read
      copyKeys(tile, work, values, v, number);
      Values weights = tile.products(queries, loaded, keys, b.index(0)), next(before);
      Values shrinks = makeWeights(tile, work, number, weights, next);
      shrink(weighted(next), shrinks);
      waitForCopies(b);
      barrier(b); // values are there, keys are read
      Value following = b.add(number, 1);
      b.ifThen(b.less(following, end), [&] { copyKeys(tile, work, keys, k, following); });
      Values sums = tile.addWeighted(weighted(next), weights, values, b.index(0));
      llvm::copy(sums, weighted(next).begin());
      return next;
    });
  }
};

std::optional<MmaTileShape> shapeFor(kernel::AttentionOp op, const GpuTarget &target) {
  int64_t width = cast<ShapedType>(op.getQ().getType()).getDimSize(1);
  bool hasOptions = op.getPositionBias() || op.getDropoutKey();
  return chooseMmaTile(target, width / static_cast<int64_t>(op.getNumHeads()), hasOptions);
}

} // namespace

bool transformer::simt::hasTensorCoreAttention(kernel::AttentionOp op, const GpuTarget *target) {
  return !op.getColumns() && (!target || shapeFor(op, *target));
}

bool transformer::simt::emitAttentionTensorCores(Loops &b, kernel::AttentionOp op) {
  if (!b.target || !halfType(op.getQ()))
    return false;
  if (!emitAttentionWarpgroups(b, op))
    TensorCoreAttention(b, op, *shapeFor(op, *b.target)).emit();
  return true;
}
