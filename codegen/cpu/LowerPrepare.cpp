//===- LowerPrepare.cpp - prepare functions to kernels and copies ---------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERPREPARE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The weights that `pack` puts in panels: without zeros behind the last output, and one by one
/// where a concatenation of outputs falls into whole panels.
SmallVector<Value> packedWeights(linalg::PackOp pack, unsigned outputDim, int64_t columns) {
  Value weight = pack.getSource();
  auto outputs = [&](Value v) { return cast<RankedTensorType>(v.getType()).getDimSize(outputDim); };
  auto panels = [&](Value v) { return llvm::divideCeil(outputs(v), columns); };
  if (auto pad = weight.getDefiningOp<tensor::PadOp>()) {
    Value value = pad.getConstantPaddingValue(), source = pad.getSource();
    auto type = cast<RankedTensorType>(source.getType());
    bool behind = pad.hasZeroLowPad() &&
                  type.getDimSize(1 - outputDim) == pad.getResultType().getDimSize(1 - outputDim);
    if (value && matchPattern(value, m_AnyZeroFloat()) && behind && panels(source) == panels(pad))
      weight = source;
  }
  auto concat = weight.getDefiningOp<tensor::ConcatOp>();
  if (!concat || concat.getDim() != outputDim ||
      llvm::any_of(concat.getInputs().drop_back(),
                   [&](Value input) { return outputs(input) % columns != 0; }))
    return {weight};
  return SmallVector<Value>(concat.getInputs());
}

/// `pack` as the kernel that transposes a panel a task.
LogicalResult replacePack(IRRewriter &rewriter, linalg::PackOp pack) {
  ArrayRef<int64_t> inner = pack.getInnerDimsPos(), outer = pack.getOuterDimsPerm();
  bool outIn = inner == ArrayRef<int64_t>{0} && (outer.empty() || outer == ArrayRef<int64_t>{0, 1});
  bool inOut = inner == ArrayRef<int64_t>{1} && outer == ArrayRef<int64_t>{1, 0};
  if (pack.getSourceRank() != 2 || !(outIn || inOut) || !pack.getDestType().hasStaticShape())
    return pack.emitOpError("is not a weight in panels [N / NR, K, NR] of static sizes");
  if (Value padding = pack.getPaddingValue(); padding && !matchPattern(padding, m_AnyZeroFloat()))
    return pack.emitOpError("pads a weight with something else than zeros");
  rewriter.setInsertionPoint(pack);
  SmallVector<Value> weights =
      packedWeights(pack, outIn ? 0 : 1, pack.getDestType().getShape().back());
  auto layout = outIn ? WeightLayout::OutIn : WeightLayout::InOut;
  kernel::WinogradPanelsOp scaled; // made with the panels
  if (pack->hasOneUse())
    scaled = dyn_cast<kernel::WinogradPanelsOp>(*pack->user_begin());
  Operation *last = scaled ? scaled.getOperation() : pack.getOperation();
  Value panels = scaled ? scaled.getOuts()[0] : Value(pack.getDest());
  rewriter.setInsertionPoint(last);
  rewriter.replaceOpWithNewOp<kernel::PackWeightOp>(last, TypeRange{panels.getType()}, weights,
                                                    scaled ? scaled.getScales() : Value(),
                                                    ValueRange{panels}, layout);
  if (scaled)
    rewriter.eraseOp(pack);
  return success();
}

/// The weights of a concatenation of outputs one by one.
void separateWeights(kernel::WinogradScalesOp op) {
  SmallVector<Value> weights;
  for (Value weight : op.getWeights()) {
    auto concat = weight.getDefiningOp<tensor::ConcatOp>();
    if (concat && concat.getDim() == (op.getLayout() == WeightLayout::OutIn ? 0 : 1))
      llvm::append_range(weights, concat.getInputs());
    else
      weights.push_back(weight);
  }
  op.getWeightsMutable().assign(weights);
}

void lowerTable(SinusoidalTableOp op) {
  OpBuilder b(op);
  Value out = tensor::EmptyOp::create(b, op.getLoc(), op.getType(), ValueRange{});
  auto table = kernel::SinusoidalTableOp::create(b, op.getLoc(), TypeRange{op.getType()},
                                                 ValueRange{out}, op.getLayout());
  op.replaceAllUsesWith(table.getResult(0));
  op.erase();
}

struct LowerPreparePass : mlir::transformer::impl::LowerPrepareBase<LowerPreparePass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SmallPtrSet<Operation *, 8> functions;
    for (auto prepared : module.getOps<PreparedOp>())
      functions.insert(module.lookupSymbol<func::FuncOp>(prepared.getFunction()));
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::PackOp> packs;
    module.walk([&](linalg::PackOp pack) { packs.push_back(pack); });
    for (linalg::PackOp pack : packs)
      if (failed(replacePack(rewriter, pack)))
        return signalPassFailure();
    module.walk(separateWeights);
    module.walk(lowerTable);
    for (Operation *op : functions) {
      auto function = cast<func::FuncOp>(op);
      RewritePatternSet patterns(&getContext());
      tensor::populateDecomposeTensorConcatPatterns(patterns);
      linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *) { return true; });
      if (failed(applyPatternsGreedily(function, std::move(patterns))))
        return signalPassFailure();
      addDestinations(function);
    }
  }
};

} // namespace
