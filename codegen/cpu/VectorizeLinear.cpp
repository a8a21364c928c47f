//===- VectorizeLinear.cpp - register tiles of linear layers on vectors ---===//
#include "codegen/Linear.h"
#include "codegen/Passes.h"
#include "codegen/cpu/LinearTiles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_VECTORIZELINEAR
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A contraction of m rows at one k, as m fused multiply-adds of a scalar and a
/// row of the panel. linalg's own vectorisation would broadcast both operands
/// first.
Value emitContraction(IRRewriter &rewriter, linalg::GenericOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value x = op.getInputs()[0], panel = op.getInputs()[1], sums = op.getOutputs()[0];
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(2);
  auto accumulator = VectorType::get(type.getShape(), type.getElementType());
  auto row = VectorType::get({columns}, type.getElementType());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  auto read = [&](VectorType vector, Value tensor) -> Value {
    SmallVector<Value> origin(cast<RankedTensorType>(tensor.getType()).getRank(), zero);
    SmallVector<bool> inBounds(vector.getRank(), true);
    return vector::TransferReadOp::create(b, vector, tensor, origin, std::nullopt, inBounds);
  };
  Value acc = read(accumulator, sums), weights = read(row, panel);
  for (int64_t i = 0; i < rows; ++i) {
    Value index = arith::ConstantIndexOp::create(b, i);
    Value scalar = tensor::ExtractOp::create(b, x, ValueRange{index, zero});
    Value factor = vector::BroadcastOp::create(b, row, scalar);
    Value old = vector::ExtractOp::create(b, acc, ArrayRef<int64_t>{i, 0});
    Value sum = vector::FMAOp::create(b, factor, weights, old);
    acc = vector::InsertOp::create(b, sum, acc, ArrayRef<int64_t>{i, 0});
  }
  SmallVector<Value> origin(3, zero);
  SmallVector<bool> inBounds(3, true);
  return vector::TransferWriteOp::create(b, acc, sums, origin, inBounds).getResult();
}

LogicalResult tileK(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  for (linalg::GenericOp contraction : marked(module, kContractionAttr)) {
    scf::SCFTilingOptions options;
    SmallVector<OpFoldResult> sizes(3, rewriter.getIndexAttr(0));
    sizes.push_back(rewriter.getIndexAttr(1));
    options.setTileSizes(sizes);
    rewriter.setInsertionPoint(contraction);
    auto tiled =
        scf::tileUsingSCF(rewriter, cast<TilingInterface>(contraction.getOperation()), options);
    if (failed(tiled))
      return contraction.emitOpError("could not be tiled over k");
    if (!tiled->loops.empty())
      tiled->loops.front()->setAttr(kLoopOverK, rewriter.getIndexAttr(lengthOfSums(contraction)));
    rewriter.replaceOp(contraction, tiled->replacements);
  }
  return canonicalizeTiles(module);
}

bool isSum(AffineMap map) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(map.getResult(0));
  return sum && sum.getKind() == AffineExprKind::Add &&
         isa<AffineDimExpr, AffineSymbolExpr>(sum.getLHS()) &&
         isa<AffineDimExpr, AffineSymbolExpr>(sum.getRHS());
}

/// A loop over a block of k, 0 .. size with k = first + iv, counts k itself:
/// first .. first + size. An address is then a base and one index; with two,
/// LLVM's scheduler gathers the loads of a step and spills them.
void countFromBlock(IRRewriter &rewriter, scf::ForOp loop) {
  Value iv = loop.getInductionVar(), first;
  SmallVector<affine::AffineApplyOp> sums;
  for (Operation *user : iv.getUsers()) {
    auto sum = dyn_cast<affine::AffineApplyOp>(user);
    if (!sum || sum.getNumOperands() != 2 || !isSum(sum.getAffineMap()))
      return;
    Value other = sum.getOperand(sum.getOperand(0) == iv ? 1 : 0);
    if (first && other != first)
      return;
    first = other;
    sums.push_back(sum);
  }
  if (sums.empty() || !isZeroInteger(loop.getLowerBound()) || !loop.isDefinedOutsideOfLoop(first))
    return;
  for (affine::AffineApplyOp sum : sums)
    rewriter.replaceOp(sum, iv);
  rewriter.setInsertionPoint(loop);
  Value size = loop.getUpperBound();
  loop.setLowerBound(first);
  loop.setUpperBound(arith::AddIOp::create(rewriter, loop.getLoc(), first, size));
}

/// Reads and writes of slices become reads and writes of what they are taken from.
LogicalResult foldSubsets(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  vector::TransferReadOp::getCanonicalizationPatterns(patterns, context);
  vector::TransferWriteOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return failure();
  return canonicalizeTiles(module);
}

LogicalResult vectorize(ModuleOp module) {
  MLIRContext *context = module.getContext();
  IRRewriter rewriter(context);
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) {
    if (op->hasAttr(kContractionAttr) || op->hasAttr(kEpilogueAttr) ||
        (isa<linalg::FillOp>(op) && op->getParentOfType<scf::ForOp>()))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (op->hasAttr(kContractionAttr)) {
      auto contraction = cast<linalg::GenericOp>(op.getOperation());
      rewriter.replaceOp(op, emitContraction(rewriter, contraction));
      continue;
    }
    auto vectorized = linalg::vectorize(rewriter, op);
    if (failed(vectorized))
      return op->emitOpError("could not be vectorised");
    rewriter.replaceOp(op, vectorized->replacements);
  }
  if (failed(foldSubsets(module)))
    return failure();
  // The accumulator becomes a value carried by the loop over k.
  SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(kLoopOverK))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    Attribute steps = loop->getAttr(kLoopOverK);
    LoopLikeOpInterface hoisted =
        hoistLoopInvariantSubsets(rewriter, cast<LoopLikeOpInterface>(loop.getOperation()));
    hoisted->setAttr(kLoopOverK, steps);
  }
  if (failed(foldSubsets(module)))
    return failure();
  module.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(kLoopOverK))
      countFromBlock(rewriter, loop);
  });
  return success();
}

struct VectorizeLinearPass : mlir::transformer::impl::VectorizeLinearBase<VectorizeLinearPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(tileK(module)) || failed(vectorize(module)))
      return signalPassFailure();
    WalkResult left = module.walk([](linalg::GenericOp op) {
      if (!op->hasAttr(kContractionAttr) && !op->hasAttr(kEpilogueAttr))
        return WalkResult::advance();
      op.emitOpError("is left after vectorising linear layers");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
