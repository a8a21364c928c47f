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

/// Marks a contraction over a block of k that adds to sums in memory.
constexpr StringLiteral kPartialAttr = "transformer.partial";

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
    if (failed(tileTasks(module)) || failed(cleanUp(module)) || failed(blockK(module)) ||
        failed(tileRegisters(module)) || failed(tileRemainders(module)) || failed(tileK(module)) ||
        failed(vectorize(module)))
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
      int64_t k = kOf(contraction);
      auto work = epilogue->getAttrOfType<DictionaryAttr>(kWorkAttr);
      rewriter.setInsertionPoint(epilogue);
      Value rows = tensor::DimOp::create(rewriter, epilogue.getLoc(), epilogue.getDpsInits()[0], 0);
      auto loops = fuseTile(rewriter, epilogue,
                            {rowBlock(rewriter, epilogue, kBlock(k)),
                             rewriter.getIndexAttr(std::min(panelBlock(k), type.getDimSize(1))),
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
  /// Panels of a task: few, so that threads end together, but enough for a task
  /// to be long beside what handing it out costs.
  int64_t panelBlock(int64_t k) const {
    constexpr int64_t leastBytes = 32 << 10; // about 2 us of reading
    return llvm::divideCeil(leastBytes, 4 * k * target.panelColumns());
  }

  static int64_t kOf(linalg::GenericOp contraction) {
    return cast<RankedTensorType>(contraction.getInputs()[0].getType()).getDimSize(1);
  }

  /// Steps of k that a task goes through before it turns to its next rows. All
  /// of them, if the panel and the one fetched meanwhile leave half of the
  /// second-level cache to the rows; else equal shares so short that current and
  /// next block take a fifth (longer and shorter ones were measured slower).
  int64_t kBlock(int64_t k) const {
    int64_t panelBytes = 4 * k * target.panelColumns();
    if (panelBytes <= target.l2Bytes / 4)
      return k;
    int64_t share = llvm::divideCeil(k, llvm::divideCeil(panelBytes, target.l2Bytes / 10));
    constexpr int64_t sumSteps = 256; // whole blocks of SumInBlocks
    return llvm::alignTo(share, sumSteps);
  }

  /// Contractions over a long k: all blocks but the last become a loop that adds
  /// to the sums in memory, the last stays before the epilogue. Each sum still
  /// goes through k from first to last.
  LogicalResult blockK(ModuleOp module) {
    IRRewriter rewriter(module.getContext());
    for (linalg::GenericOp contraction : marked(module, kContractionAttr)) {
      int64_t k = kOf(contraction), block = kBlock(k), last = (k - 1) / block * block;
      if (last == 0)
        continue;
      rewriter.setInsertionPoint(contraction);
      ImplicitLocOpBuilder b(contraction.getLoc(), rewriter);
      Value fill = contraction.getOutputs()[0];
      if (auto op = fill.getDefiningOp<linalg::FillOp>())
        if (failed(tileFill(rewriter, op)))
          return failure();
      Value lower = arith::ConstantIndexOp::create(b, 0);
      Value upper = arith::ConstantIndexOp::create(b, last);
      Value step = arith::ConstantIndexOp::create(b, block);
      auto loop = scf::ForOp::create(b, lower, upper, step, contraction.getOutputs()[0]);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        linalg::GenericOp part =
            sliceOverK(b, contraction, loop.getInductionVar(), block, loop.getRegionIterArg(0));
        part->setAttr(kPartialAttr, b.getUnitAttr());
        scf::YieldOp::create(b, part.getResult(0));
      }
      b.setInsertionPoint(contraction);
      linalg::GenericOp rest =
          sliceOverK(b, contraction, b.getIndexAttr(last), k - last, loop.getResult(0));
      rewriter.replaceOp(contraction, rest);
    }
    return cleanUp(module);
  }

  /// The contraction over `size` steps of k from `first`, added to `sums`.
  static linalg::GenericOp sliceOverK(ImplicitLocOpBuilder &b, linalg::GenericOp contraction,
                                      OpFoldResult first, int64_t size, Value sums) {
    auto slice = [&](Value value) -> Value {
      SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
      SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
      SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
      offsets[1] = first; // of x [m, k] and of the panels [p, k, j]
      sizes[1] = b.getIndexAttr(size);
      return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
    };
    SmallVector<Value> operands = {slice(contraction.getInputs()[0]),
                                   slice(contraction.getInputs()[1]), sums};
    return cast<linalg::GenericOp>(
        mlir::clone(b, contraction, contraction->getResultTypes(), operands));
  }

  /// Zeros, a row at a time.
  static LogicalResult tileFill(IRRewriter &rewriter, linalg::FillOp fill) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(fill);
    scf::SCFTilingOptions options;
    options.setTileSizes(sizes(rewriter, {1, 1, 0}));
    auto tiled = scf::tileUsingSCF(rewriter, cast<TilingInterface>(fill.getOperation()), options);
    if (failed(tiled))
      return fill.emitOpError("could not be tiled");
    rewriter.replaceOp(fill, tiled->replacements);
    return success();
  }

  /// Register tiles of tileRows rows by one panel: panels outside, rows inside.
  LogicalResult tileRegisters(ModuleOp module) {
    IRRewriter rewriter(module.getContext());
    for (linalg::GenericOp root : roots(module)) {
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(root.getNumLoops()));
      std::swap(order[0], order[1]);
      auto loops = fuseTile(rewriter, root, sizes(rewriter, {target.tileRows(), 1}), order,
                            /*parallel=*/false);
      if (failed(loops))
        return failure();
      rowLoops.push_back(cast<scf::ForOp>(loops->back().getOperation()));
    }
    return success();
  }

  /// What register tiles are made of: epilogues, and contractions without one.
  static SmallVector<linalg::GenericOp> roots(Operation *op) {
    SmallVector<linalg::GenericOp> found = marked(op, kEpilogueAttr);
    found.append(marked(op, kPartialAttr));
    return found;
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
        for (linalg::GenericOp root : roots(rest)) {
          auto loops = fuseTile(rewriter, root, sizes(rewriter, {nextRows(rows)}), {},
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
        tiled->loops.front()->setAttr(kLoopOverK, rewriter.getIndexAttr(kOf(contraction)));
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

  /// A loop over a block of k, 0 .. size with k = first + iv, counts k itself:
  /// first .. first + size. An address is then a base and one index; with two,
  /// LLVM's scheduler gathers the loads of a step and spills them.
  static void countFromBlock(IRRewriter &rewriter, scf::ForOp loop) {
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
  static bool isSum(AffineMap map) {
    auto sum = dyn_cast<AffineBinaryOpExpr>(map.getResult(0));
    return sum && sum.getKind() == AffineExprKind::Add &&
           isa<AffineDimExpr, AffineSymbolExpr>(sum.getLHS()) &&
           isa<AffineDimExpr, AffineSymbolExpr>(sum.getRHS());
  }

  /// Reads and writes of slices become reads and writes of what they are taken from.
  static LogicalResult foldSubsets(ModuleOp module) {
    MLIRContext *context = module.getContext();
    RewritePatternSet patterns(context);
    vector::TransferReadOp::getCanonicalizationPatterns(patterns, context);
    vector::TransferWriteOp::getCanonicalizationPatterns(patterns, context);
    tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return failure();
    return cleanUp(module);
  }

  CpuTarget target;
  SmallVector<scf::ForOp> rowLoops;
};

} // namespace
