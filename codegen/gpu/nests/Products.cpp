//===- Products.cpp - matrix products, by blocks or a thread a number ------===//
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductBlocks.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

bool transformer::simt::isSumOfTerms(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 1 && op.getNumDpsInits() == 1 && additionOf(op) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isProjectedPermutation();
}

/// Adds terms along the one loop that is not parallel to what is there.
void transformer::simt::emitKernel(Loops &b, linalg::LinalgOp op) {
  if (b.target)
    if (std::optional<Product> product = matchProduct(op))
      return emitProductBlocks(b, *product);
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  unsigned reduction = reductions.front();
  OpOperand *out = op.getDpsInitOperand(0);
  Value result = out->get();
  AffineMap places = op.getMatchingIndexingMap(out);
  Values sizes;
  for (unsigned d = 0; d < places.getNumResults(); ++d)
    sizes.push_back(b.dim(result, d));
  Value count;
  int64_t staticCount = ShapedType::kDynamic;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto d = op.getMatchingIndexingMap(input).getResultPosition(b.getAffineDimExpr(reduction));
        d && !count) {
      staticCount = cast<MemRefType>(input->get().getType()).getDimSize(*d);
      count = b.dim(input->get(), *d);
    }
  arith::AddFOp addition = additionOf(op);
  Block *body = op.getBlock();
  b.threads(sizes, [&](ValueRange at) {
    Values dims(op.getNumLoops());
    for (auto [place, expression] : llvm::zip_equal(at, places.getResults()))
      dims[cast<AffineDimExpr>(expression).getPosition()] = place;
    auto term = [&](Value i) {
      dims[reduction] = i;
      IRMapping map;
      for (OpOperand *input : op.getDpsInputOperands()) {
        Values indices;
        for (AffineExpr each : op.getMatchingIndexingMap(input).getResults())
          indices.push_back(emitIndex(b, each, dims));
        map.map(op.getMatchingBlockArgument(input), b.load(input->get(), indices));
      }
      for (Operation &inner : body->without_terminator()) {
        if (auto index = dyn_cast<linalg::IndexOp>(inner))
          map.map(index.getResult(), dims[index.getDim()]);
        else if (&inner != addition)
          b.clone(inner, map);
      }
      Value sum = body->getArguments().back();
      return map.lookup(addition.getLhs() == sum ? addition.getRhs() : addition.getLhs());
    };
    Value sum = ShapedType::isDynamic(staticCount) ? b.sum(count, term) : b.sum(staticCount, term);
    b.store(b.addf(b.load(result, at), sum), result, at);
  });
}
