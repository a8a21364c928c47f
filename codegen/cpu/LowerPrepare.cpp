//===- LowerPrepare.cpp - prepare functions to parallel copies ------------===//
#include "codegen/DestinationPassing.h"
#include "codegen/Passes.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERPREPARE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The result becomes an argument that the function writes to.
void passDestination(func::FuncOp function) {
  Block &block = function.front();
  auto ret = cast<func::ReturnOp>(block.getTerminator());
  Type type = ret.getOperand(0).getType();
  Value destination = block.addArgument(type, function.getLoc());
  SmallVector<Type> inputs(function.getArgumentTypes());
  inputs.push_back(type);
  function.setType(FunctionType::get(function.getContext(), inputs, {type}));
  OpBuilder b(ret);
  ret.setOperand(0, writeOrCopyInto(b, function, ret.getOperand(0), destination));
}

/// A pack that is read and written once.
DictionaryAttr packWork(linalg::PackOp pack) {
  auto source = cast<RankedTensorType>(pack.getSource().getType());
  auto panels = cast<RankedTensorType>(pack.getDest().getType());
  Work work{"pack weight", "panels=" + std::to_string(panels.getDimSize(0)), {}};
  if (panels.getRank() == 3)
    work.sizes += " K=" + std::to_string(panels.getDimSize(1)) +
                  " NR=" + std::to_string(panels.getDimSize(2));
  constexpr int64_t f32 = 4; // bytes
  work.fixedBytes = f32 * (source.getNumElements() + panels.getNumElements());
  return workAttr(pack.getContext(), work);
}

/// One task a panel; inside it the pack is a transposition.
LogicalResult tilePack(IRRewriter &rewriter, linalg::PackOp pack) {
  rewriter.setInsertionPoint(pack);
  scf::SCFTilingOptions options;
  options.setTileSizes({rewriter.getIndexAttr(1), rewriter.getIndexAttr(0)});
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  auto tiled = scf::tileUsingSCF(rewriter, cast<TilingInterface>(pack.getOperation()), options);
  if (failed(tiled))
    return pack.emitOpError("could not be tiled by panels");
  if (!tiled->loops.empty())
    setWork(rewriter, cast<scf::ForallOp>(tiled->loops.front()), packWork(pack), {});
  rewriter.replaceOp(pack, tiled->replacements);
  for (Operation *op : tiled->tiledOps) {
    auto inner = dyn_cast<linalg::PackOp>(op);
    rewriter.setInsertionPoint(op);
    if (inner && failed(linalg::lowerPack(rewriter, inner, /*lowerPadLikeWithInsertSlice=*/false)))
      return inner.emitOpError("could not be lowered to a transposition");
  }
  return success();
}

struct LowerPreparePass : mlir::transformer::impl::LowerPrepareBase<LowerPreparePass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SmallPtrSet<Operation *, 8> functions;
    for (auto prepared : module.getOps<PreparedOp>())
      functions.insert(module.lookupSymbol<func::FuncOp>(prepared.getFunction()));
    IRRewriter rewriter(&getContext());
    for (Operation *op : functions) {
      auto function = cast<func::FuncOp>(op);
      if (failed(lowerSinusoids(function)))
        return signalPassFailure();
      RewritePatternSet patterns(&getContext());
      tensor::populateDecomposeTensorConcatPatterns(patterns);
      if (failed(applyPatternsGreedily(function, std::move(patterns))))
        return signalPassFailure();
      passDestination(function);
    }
    SmallVector<linalg::PackOp> packs;
    getOperation().walk([&](linalg::PackOp pack) { packs.push_back(pack); });
    for (linalg::PackOp pack : packs)
      if (failed(tilePack(rewriter, pack)))
        return signalPassFailure();
  }

private:
  LogicalResult lowerSinusoids(func::FuncOp function) {
    function.walk([](SinusoidalTableOp op) {
      OpBuilder b(op);
      Value out = tensor::EmptyOp::create(b, op.getLoc(), op.getType(), ValueRange{});
      auto table = kernel::SinusoidalTableOp::create(b, op.getLoc(), TypeRange{op.getType()},
                                                     ValueRange{out}, op.getLayout());
      op.replaceAllUsesWith(table.getResult(0));
      op.erase();
    });
    return success();
  }
};

} // namespace
