//===- LowerVectors.cpp - accumulators into registers ---------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/DotProducts.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERVECTORS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The places of an accumulator's vectors in its leading dimensions, in order.
SmallVector<SmallVector<int64_t>> placesOf(VectorType accumulator) {
  SmallVector<SmallVector<int64_t>> places = {{}};
  for (int64_t size : accumulator.getShape().drop_back()) {
    SmallVector<SmallVector<int64_t>> longer;
    for (ArrayRef<int64_t> place : places)
      for (int64_t i = 0; i < size; ++i) {
        longer.emplace_back(place);
        longer.back().push_back(i);
      }
    places = std::move(longer);
  }
  return places;
}

/// A write of the whole accumulator, if that is its only use, as one of each vector.
void splitWrite(RewriterBase &rewriter, Value accumulator, ValueRange vectors) {
  if (!accumulator.hasOneUse())
    return;
  auto write = dyn_cast<vector::TransferWriteOp>(*accumulator.user_begin());
  if (!write || write.getMask() || !write.getPermutationMap().isMinorIdentity() ||
      write.hasOutOfBoundsDim())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(write);
  ImplicitLocOpBuilder b(write.getLoc(), rewriter);
  SmallVector<bool> inBounds = {true};
  auto type = cast<VectorType>(accumulator.getType());
  size_t first = write.getIndices().size() - type.getRank();
  for (auto [place, vector] : llvm::zip_equal(placesOf(type), vectors)) {
    SmallVector<Value> at(write.getIndices());
    for (auto [dim, i] : llvm::enumerate(place))
      if (type.getDimSize(dim) > 1)
        at[first + dim] =
            arith::AddIOp::create(b, at[first + dim], arith::ConstantIndexOp::create(b, i));
    vector::TransferWriteOp::create(b, vector, write.getBase(), at, inBounds);
  }
  rewriter.eraseOp(write);
}

/// Carries every vector of the accumulator as a value of its own, so that it lives
/// in registers from the first k to the last.
scf::ForOp splitAccumulator(RewriterBase &rewriter, scf::ForOp loop) {
  auto type =
      dyn_cast<VectorType>(loop.getNumResults() == 1 ? loop.getResult(0).getType() : Type());
  if (!type || type.getRank() < 2)
    return loop;
  SmallVector<SmallVector<int64_t>> places = placesOf(type);
  auto split = [&](Value value) {
    SmallVector<Value> parts;
    for (ArrayRef<int64_t> place : places)
      parts.push_back(vector::ExtractOp::create(rewriter, loop.getLoc(), value, place));
    return parts;
  };
  auto join = [&](ValueRange parts) {
    Value value = ub::PoisonOp::create(rewriter, loop.getLoc(), type);
    for (auto [place, part] : llvm::zip_equal(places, parts))
      value = vector::InsertOp::create(rewriter, loop.getLoc(), part, value, place);
    return value;
  };
  rewriter.setInsertionPoint(loop);
  auto replacement =
      scf::ForOp::create(rewriter, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), split(loop.getInitArgs()[0]));
  replacement->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = replacement.getBody();
  rewriter.setInsertionPointToStart(body);
  Value accumulator = join(replacement.getRegionIterArgs());
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  Value result = yield.getOperand(0);
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    rewriter.eraseOp(&body->back());
  rewriter.inlineBlockBefore(loop.getBody(), body, body->end(),
                             {replacement.getInductionVar(), accumulator});
  rewriter.setInsertionPoint(yield);
  scf::YieldOp::create(rewriter, loop.getLoc(), split(result));
  rewriter.eraseOp(yield);
  rewriter.setInsertionPointAfter(replacement);
  splitWrite(rewriter, loop.getResult(0), replacement.getResults());
  rewriter.replaceOp(loop, join(replacement.getResults()));
  return replacement;
}

struct LowerVectorsPass : mlir::transformer::impl::LowerVectorsBase<LowerVectorsPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet found(context);
    vector::populateVectorTransferPermutationMapLoweringPatterns(found);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      if (op.getDialectNamespace() == "vector")
        op.getCanonicalizationPatterns(found, context);
    patterns = std::move(found);
    return success();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    cpu::TargetAttr target = cpu::TargetAttr::of(function);
    if (!target)
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<scf::ForOp> loops;
    function.walk([&](scf::ForOp loop) { // the inner before the outer ones
      if (linearMark(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp &loop : loops)
      loop = splitAccumulator(rewriter, loop);
    function.walk([&](cpu::DotBytesOp op) { lowerDotBytes(rewriter, op, target); });
    function.walk([&](cpu::DotBfloat16Op op) { lowerDotBfloat16(rewriter, op, target); });
    SmallVector<cpu::MultiplyMatricesOp> products;
    function.walk([&](cpu::MultiplyMatricesOp op) { products.push_back(op); });
    lowerMultiplyMatrices(rewriter, products);
    if (failed(rewriteTiles(function, patterns)))
      return signalPassFailure();
    SmallVector<scf::ForOp> unroll;
    function.walk([&](scf::ForOp loop) {
      if (isPart(loop, LinearPart::Loop) && formatOf(loop).panelRows() == 1 &&
          !formatOf(loop).usesMatrixRegisters())
        unroll.push_back(loop);
    });
    for (scf::ForOp loop : unroll)
      if (failed(loopUnrollByFactor(loop, target.getUnroll())))
        return signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace
