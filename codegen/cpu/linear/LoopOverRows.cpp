//===- LoopOverRows.cpp - epilogues as loops over rows --------------------===//
#include "codegen/cpu/linear/LinearTiles.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;

/// The contraction over zeros, with the sums in a tensor of their own.
static FailureOr<Value> sumApart(RewriterBase &rewriter, linalg::GenericOp contraction,
                                 linalg::FillOp fill) {
  if (formatOf(contraction).usesMatrixRegisters())
    return multiplyMatrices(rewriter, contraction);
  Value result = fill.getOutputs()[0];
  rewriter.setInsertionPoint(fill);
  Value sums = tensor::EmptyOp::create(rewriter, fill.getLoc(),
                                       tensor::getMixedSizes(rewriter, fill.getLoc(), result),
                                       cast<RankedTensorType>(result.getType()).getElementType());
  rewriter.modifyOpInPlace(fill, [&] { fill.getOutputsMutable().assign(sums); });
  return contraction.getResult(0);
}

/// The epilogue with the tile's sums as an input, in a tensor of their own, where they begin as
/// zeros; where they go on from sums of blocks of k before, these are in the result.
static FailureOr<linalg::GenericOp> readSums(IRRewriter &rewriter, linalg::GenericOp epilogue) {
  auto contraction = epilogue.getDpsInitOperand(0)->get().getDefiningOp<linalg::GenericOp>();
  auto fill = contraction.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  if (!fill)
    return epilogue;
  Value result = fill.getOutputs()[0];
  SmallVector<Value> inputs(epilogue.getInputs());
  SmallVector<AffineMap> maps = epilogue.getIndexingMapsArray();
  maps.insert(maps.end() - 1, maps.back());
  FailureOr<Value> sums = sumApart(rewriter, contraction, fill);
  if (failed(sums))
    return failure();
  inputs.push_back(*sums);
  rewriter.setInsertionPoint(epilogue);
  auto reading = linalg::GenericOp::create(
      rewriter, epilogue.getLoc(), result.getType(), inputs, result, maps,
      epilogue.getIteratorTypesArray(), [&](OpBuilder &b, Location, ValueRange arguments) {
        IRMapping map;
        map.map(epilogue.getBody()->getArguments(), arguments.drop_back());
        for (Operation &op : *epilogue.getBody())
          b.clone(op, map);
      });
  reading->setDiscardableAttrs(epilogue->getDiscardableAttrDictionary());
  rewriter.replaceOp(epilogue, reading);
  return reading;
}

static bool isLong(linalg::GenericOp epilogue) {
  auto contraction = epilogue.getDpsInitOperand(0)->get().getDefiningOp<linalg::GenericOp>();
  return formatOf(contraction).usesMatrixRegisters() ||
         llvm::any_of(*epilogue.getBody(),
                      [](Operation &op) { return isa<ActivationOp, ActivationGradientOp>(op); });
}

LogicalResult mlir::transformer::loopOverRows(func::FuncOp function,
                                              const FrozenRewritePatternSet &patterns) {
  IRRewriter rewriter(function.getContext());
  for (linalg::GenericOp epilogue : epilogues(function)) {
    if (!isLong(epilogue))
      continue;
    FailureOr<linalg::GenericOp> reading = readSums(rewriter, epilogue);
    if (failed(reading))
      return failure();
    epilogue = *reading;
    scf::SCFTilingOptions options;
    OpFoldResult one = rewriter.getIndexAttr(1), all = rewriter.getIndexAttr(0);
    options.setTileSizes({one, one, all});
    rewriter.setInsertionPoint(epilogue);
    auto tiled =
        scf::tileUsingSCF(rewriter, cast<TilingInterface>(epilogue.getOperation()), options);
    if (failed(tiled))
      return epilogue.emitOpError("could not be tiled");
    rewriter.replaceOp(epilogue, tiled->replacements);
  }
  return rewriteTiles(function, patterns);
}
