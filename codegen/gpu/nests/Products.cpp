//===- Products.cpp - matrix products, a thread a number ------------------===//
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

/// Adds to what is there, as the op says. Maps of the operands are of (row, column, k).
void transformer::simt::emitKernel(Loops &b, linalg::MatmulOp op) {
  Value x = op.getInputs()[0], y = op.getInputs()[1], result = op.getOutputs()[0];
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineExpr k = b.getAffineDimExpr(2);
  std::optional<unsigned> place = maps[0].getResultPosition(k);
  int64_t size = cast<MemRefType>(x.getType()).getDimSize(*place);
  b.threads({b.dim(result, 0), b.dim(result, 1)}, [&](ValueRange at) {
    auto load = [&](Value buffer, AffineMap map, Value i) {
      Values all = {at[0], at[1], i}, indices;
      for (AffineExpr each : map.getResults())
        indices.push_back(all[cast<AffineDimExpr>(each).getPosition()]);
      return b.load(buffer, indices);
    };
    auto term = [&](Value i) { return b.mulf(load(x, maps[0], i), load(y, maps[1], i)); };
    Value sum = ShapedType::isDynamic(size) ? b.sum(b.dim(x, *place), term) : b.sum(size, term);
    b.store(b.addf(b.load(result, at), sum), result, at);
  });
}
