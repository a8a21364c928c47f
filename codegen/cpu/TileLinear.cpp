//===- TileLinear.cpp - linear layers to register tiles -------------------===//
#include "codegen/Linear.h"
#include "codegen/Passes.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_TILELINEAR
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The ops under `root` that carry the unit attribute `name`.
SmallVector<linalg::GenericOp> marked(Operation *root, StringRef name) {
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) {
    if (op->hasAttr(name))
      ops.push_back(op);
  });
  return ops;
}

LogicalResult cleanUp(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  for (Dialect *dialect : module.getContext()->getLoadedDialects())
    if (llvm::is_contained({"affine", "arith", "linalg", "scf", "tensor", "vector"},
                           dialect->getNamespace()))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : module.getContext()->getRegisteredOperations())
    if (llvm::is_contained({"affine", "arith", "linalg", "scf", "tensor", "vector"},
                           op.getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, module.getContext());
  linalg::populateLinalgTilingCanonicalizationPatterns(patterns);
  scf::populateSCFForLoopCanonicalizationPatterns(patterns);
  tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Tiles `consumer` with its producers fused in and replaces it.
FailureOr<SmallVector<LoopLikeOpInterface>> fuseTile(IRRewriter &rewriter,
                                                     linalg::GenericOp consumer,
                                                     ArrayRef<OpFoldResult> tileSizes,
                                                     ArrayRef<int64_t> interchange, bool parallel) {
  scf::SCFTileAndFuseOptions options;
  options.tilingOptions.setTileSizes(tileSizes);
  options.tilingOptions.setInterchange(interchange);
  options.tilingOptions.setLoopType(parallel ? scf::SCFTilingOptions::LoopType::ForallOp
                                             : scf::SCFTilingOptions::LoopType::ForOp);
  // Only what was made for this linear moves into its loops.
  options.setFusionControlFn(
      [](tensor::ExtractSliceOp, OpResult producer,
         bool) -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
        Operation *op = producer.getOwner();
        if (op->hasAttr(kContractionAttr) || isa<linalg::FillOp>(op))
          return scf::SCFTileAndFuseOptions::ControlFnResult{};
        return std::nullopt;
      });
  rewriter.setInsertionPoint(consumer);
  auto tiled = scf::tileConsumerAndFuseProducersUsingSCF(
      rewriter, cast<TilingInterface>(consumer.getOperation()), options);
  if (failed(tiled))
    return consumer.emitOpError("could not be tiled");
  SmallVector<Operation *> originals = {consumer};
  originals.append(tiled->fusedProducers.begin(), tiled->fusedProducers.end());
  for (Operation *op : originals)
    for (Value result : op->getResults())
      if (Value replacement = tiled->replacements.lookup(result))
        rewriter.replaceAllUsesWith(result, replacement);
  for (Operation *op : originals)
    if (op->use_empty())
      rewriter.eraseOp(op);
  return tiled->loops;
}

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

struct TileLinearPass : mlir::transformer::impl::TileLinearBase<TileLinearPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<CpuTarget> found = cpuTarget(arch);
    if (!found) {
      module.emitError(llvm::toString(found.takeError()));
      return signalPassFailure();
    }
    target = *found;
    if (failed(tileTasks(module)) || failed(cleanUp(module)) || failed(tileRegisters(module)) ||
        failed(tileRemainders(module)) || failed(tileK(module)) || failed(vectorize(module)))
      return signalPassFailure();
    WalkResult left = module.walk([](linalg::GenericOp op) {
      if (!op->hasAttr(kContractionAttr) && !op->hasAttr(kEpilogueAttr))
        return WalkResult::advance();
      op.emitOpError("is left after tiling linear layers");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }

private:
  /// Tasks: `rowBlock` rows, whose inputs take half of the second-level cache,
  /// by a few panels.
  LogicalResult tileTasks(ModuleOp module) {
    IRRewriter rewriter(module.getContext());
    for (linalg::GenericOp epilogue : marked(module, kEpilogueAttr)) {
      auto contraction = epilogue.getDpsInitOperand(0)->get().getDefiningOp<linalg::GenericOp>();
      auto type = cast<RankedTensorType>(epilogue.getResult(0).getType());
      int64_t k = cast<RankedTensorType>(contraction.getInputs()[0].getType()).getDimSize(1);
      auto work = epilogue->getAttrOfType<DictionaryAttr>(kWorkAttr);
      rewriter.setInsertionPoint(epilogue);
      Value rows = tensor::DimOp::create(rewriter, epilogue.getLoc(), epilogue.getDpsInits()[0], 0);
      auto loops = fuseTile(rewriter, epilogue,
                            {rowBlock(rewriter, epilogue, k),
                             rewriter.getIndexAttr(panelBlock(type.getDimSize(1))),
                             rewriter.getIndexAttr(0)},
                            {}, /*parallel=*/true);
      if (failed(loops))
        return failure();
      if (work)
        setWork(rewriter, cast<scf::ForallOp>(loops->front()), work, rows);
    }
    return success();
  }

  /// Rows of a task: at most those whose inputs take half of the second-level
  /// cache, and equal shares of the rows that there are.
  OpFoldResult rowBlock(IRRewriter &rewriter, linalg::GenericOp epilogue, int64_t k) const {
    int64_t tile = target.tileRows();
    int64_t most = std::max(target.l2Bytes / 2 / (4 * k) / tile, int64_t(2)) * tile;
    rewriter.setInsertionPoint(epilogue);
    ImplicitLocOpBuilder b(epilogue.getLoc(), rewriter);
    auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    auto ceilDiv = [&](Value x, Value y) -> Value { return arith::CeilDivUIOp::create(b, x, y); };
    Value rows = tensor::DimOp::create(b, epilogue.getDpsInits()[0], 0);
    Value blocks = ceilDiv(rows, constant(most));
    blocks = arith::MaxUIOp::create(b, blocks, constant(1)); // no rows, no blocks
    Value tiles = ceilDiv(ceilDiv(rows, blocks), constant(tile));
    tiles = arith::MaxUIOp::create(b, tiles, constant(1));
    return arith::MulIOp::create(b, tiles, constant(tile)).getResult();
  }
  /// At least eight tasks over the panels where there are as many, and at most
  /// 128 columns a task.
  int64_t panelBlock(int64_t panels) const {
    int64_t most = std::max<int64_t>(1, 128 / target.panelColumns());
    return std::clamp<int64_t>(panels / 8, 1, most);
  }

  /// Register tiles of tileRows rows by one panel: panels outside, rows inside.
  LogicalResult tileRegisters(ModuleOp module) {
    IRRewriter rewriter(module.getContext());
    for (linalg::GenericOp epilogue : marked(module, kEpilogueAttr)) {
      auto loops = fuseTile(rewriter, epilogue, sizes(rewriter, {target.tileRows(), 1, 0}),
                            {1, 0, 2}, /*parallel=*/false);
      if (failed(loops))
        return failure();
      rowLoops.push_back(cast<scf::ForOp>(loops->back().getOperation()));
    }
    return success();
  }

  /// Rows left over: tiles of half the rows, and so on down to one.
  LogicalResult tileRemainders(ModuleOp module) {
    IRRewriter rewriter(module.getContext());
    for (int64_t rows = target.tileRows(); rows > 1; rows = nextRows(rows)) {
      SmallVector<scf::ForOp> next;
      for (scf::ForOp loop : rowLoops) {
        scf::ForOp rest;
        if (failed(scf::peelForLoopAndSimplifyBounds(rewriter, loop, rest)))
          continue; // a static number of rows that the step divides
        fullTiles(rewriter, loop, rows);
        for (linalg::GenericOp epilogue : marked(rest, kEpilogueAttr)) {
          auto loops = fuseTile(rewriter, epilogue, sizes(rewriter, {nextRows(rows), 0, 0}), {},
                                /*parallel=*/false);
          if (failed(loops))
            return failure();
          next.push_back(cast<scf::ForOp>(loops->front().getOperation()));
        }
      }
      rowLoops = next;
    }
    return cleanUp(module);
  }

  /// In the peeled loop every tile is full. Peeling itself only sees it where
  /// the tile's size is still written in terms of the loop's bound.
  static void fullTiles(IRRewriter &rewriter, scf::ForOp loop, int64_t rows) {
    SmallVector<affine::AffineMinOp> sizes;
    loop.getBody()->walk([&](affine::AffineMinOp op) {
      bool ofTile = llvm::is_contained(op.getOperands(), loop.getInductionVar()) &&
                    llvm::any_of(op.getMap().getResults(), [&](AffineExpr e) {
                      auto constant = dyn_cast<AffineConstantExpr>(e);
                      return constant && constant.getValue() == rows;
                    });
      if (ofTile)
        sizes.push_back(op);
    });
    for (affine::AffineMinOp op : sizes) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, rows);
    }
  }
  static int64_t nextRows(int64_t rows) { return rows == 6 ? 4 : rows / 2; }

  static SmallVector<OpFoldResult> sizes(OpBuilder &b, ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values,
                               [&](int64_t v) -> OpFoldResult { return b.getIndexAttr(v); });
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
        tiled->loops.front()->setAttr(kLoopOverK, rewriter.getUnitAttr());
      rewriter.replaceOp(contraction, tiled->replacements);
    }
    return cleanUp(module);
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
    RewritePatternSet patterns(context);
    vector::TransferReadOp::getCanonicalizationPatterns(patterns, context);
    vector::TransferWriteOp::getCanonicalizationPatterns(patterns, context);
    tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))) || failed(cleanUp(module)))
      return failure();
    // The accumulator becomes a value carried by the loop over k.
    SmallVector<scf::ForOp> loops;
    module.walk([&](scf::ForOp loop) {
      if (loop->hasAttr(kLoopOverK))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      LoopLikeOpInterface hoisted =
          hoistLoopInvariantSubsets(rewriter, cast<LoopLikeOpInterface>(loop.getOperation()));
      hoisted->setAttr(kLoopOverK, rewriter.getUnitAttr());
    }
    return cleanUp(module);
  }

  CpuTarget target;
  SmallVector<scf::ForOp> rowLoops;
};

} // namespace
