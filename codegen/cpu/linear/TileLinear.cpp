//===- TileLinear.cpp - linear layers to register tiles -------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/linear/TaskShape.h"
#include "codegen/kernels/Work.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_TILELINEAR
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

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
        if (isContraction(op) || isa<linalg::FillOp>(op))
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

struct TileLinearPass : mlir::transformer::impl::TileLinearBase<TileLinearPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    patterns = tilePatterns(RewritePatternSet(context));
    return success();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (epilogues(function).empty())
      return;
    target = cpu::TargetAttr::of(function);
    if (!target || failed(tileTasks(function)) || failed(rewriteTiles(function, patterns)))
      return signalPassFailure();
    separateFewRows(function);
    if (failed(blockK(function)) || failed(tileRegisters(function)) ||
        failed(tileRemainders(function)) || failed(loopOverRows(function, patterns)))
      signalPassFailure();
  }

private:
  /// Tasks, by taskShapeOf; of weights that tasks pack each its own panels.
  LogicalResult tileTasks(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp epilogue : epilogues(function)) {
      linalg::GenericOp contraction = contractionOf(epilogue);
      auto work = epilogue->getAttrOfType<DictionaryAttr>(kWorkAttr);
      rewriter.setInsertionPoint(epilogue);
      Value rows = tensor::DimOp::create(rewriter, epilogue.getLoc(), epilogue.getDpsInits()[0], 0);
      OpFoldResult all = rewriter.getIndexAttr(0);
      TaskShape shape = taskShapeOf(rewriter, contraction, epilogue, rows, target);
      auto loops = fuseTile(rewriter, epilogue, {shape.rows, shape.panels, all}, {},
                            /*parallel=*/true);
      if (failed(loops))
        return failure();
      if (shape.pack) {
        Operation *task = loops->front();
        moveIntoTasks(rewriter, shape.pack, cast<scf::ForallOp>(task), shape.mostPanels,
                      shape.packsAhead);
        for (linalg::GenericOp inTask : epilogues(task))
          if (failed(fuseTile(rewriter, inTask, {shape.rowsOfBlock, all, all}, {},
                              /*parallel=*/false)))
            return failure();
      }
      if (work)
        setWork(rewriter, cast<scf::ForallOp>(loops->front()), work, rows);
    }
    return success();
  }

  /// A copy of the task for when it has few rows, in an scf.if.
  void separateFewRows(func::FuncOp function) const {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp epilogue : epilogues(function)) {
      linalg::GenericOp contraction = contractionOf(epilogue);
      if (fewRowsTileOf(contraction, target).panels == 1)
        continue;
      SmallVector<Operation *> ops = {contraction, epilogue};
      if (auto fill = contraction.getOutputs()[0].getDefiningOp<linalg::FillOp>())
        ops.insert(ops.begin(), fill);
      rewriter.setInsertionPoint(epilogue);
      ImplicitLocOpBuilder b(epilogue.getLoc(), rewriter);
      Value rows = tensor::DimOp::create(b, epilogue.getDpsInits()[0], 0);
      Value few = areFew(b, rows);
      auto copy = [&](OpBuilder &nested, Location loc) {
        IRMapping map;
        for (Operation *op : ops)
          nested.clone(*op, map);
        scf::YieldOp::create(nested, loc, map.lookup(epilogue.getResult(0)));
      };
      auto either = scf::IfOp::create(b, few, copy, copy);
      rewriter.replaceOp(epilogue, either);
      for (Operation *op : llvm::reverse(ArrayRef<Operation *>(ops).drop_back()))
        if (op->use_empty())
          rewriter.eraseOp(op);
    }
  }

  /// Whether `op` is in such a copy.
  static bool hasFewRows(Operation *op) {
    auto either = op->getParentOfType<scf::IfOp>();
    return either && either.getThenRegion().isAncestor(op->getParentRegion());
  }

  /// Contractions over a long k: all blocks but the last become a loop that adds
  /// to the sums in memory, the last stays before the epilogue. Each sum still
  /// goes through k from first to last.
  LogicalResult blockK(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp contraction : contractions(function)) {
      int64_t steps = stepsOf(contraction), products = formatOf(contraction).products();
      int64_t block = blockOfK(contraction, target) / products;
      int64_t last = (steps - 1) / block * block;
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
        markPart(part, LinearPart::Partial, linearMark(part).getFormat());
        scf::YieldOp::create(b, part.getResult(0));
      }
      b.setInsertionPoint(contraction);
      linalg::GenericOp rest =
          sliceOverK(b, contraction, b.getIndexAttr(last), steps - last, loop.getResult(0));
      rewriter.replaceOp(contraction, rest);
    }
    return rewriteTiles(function, patterns);
  }

  /// The contraction over `size` steps of k from `first`, added to `sums`.
  static linalg::GenericOp sliceOverK(ImplicitLocOpBuilder &b, linalg::GenericOp contraction,
                                      OpFoldResult first, int64_t size, Value sums) {
    DenseMap<Value, Value> slices;
    SmallVector<Value> operands;
    for (Value value : contraction.getInputs()) {
      Value &slice = slices[value];
      if (!slice) {
        SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
        SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
        SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
        offsets[1] = first; // of x [m, k, ...] and of the panels [p, k, ..., j]
        sizes[1] = b.getIndexAttr(size);
        slice = tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
      }
      operands.push_back(slice);
    }
    operands.push_back(sums);
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

  /// Register tiles of the format's rows by one panel: panels outside, rows inside; where rows are
  /// few, of several panels.
  LogicalResult tileRegisters(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp root : roots(function)) {
      if (hasFewRows(root)) {
        if (failed(tileFewRows(rewriter, root)))
          return failure();
        continue;
      }
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(root.getNumLoops()));
      std::swap(order[0], order[1]);
      const LinearFormat &format = formatOf(contractionOf(root));
      int64_t rows = format.tileRows(target);
      auto loops = fuseTile(rewriter, root, sizes(rewriter, {rows, 1}), order, /*parallel=*/false);
      if (failed(loops))
        return failure();
      if (format.usesMatrixRegisters()) // whose tiles may have fewer rows
        continue;
      rowLoops.push_back({cast<scf::ForOp>(loops->back().getOperation()), rows});
    }
    return success();
  }

  LogicalResult tileFewRows(IRRewriter &rewriter, linalg::GenericOp root) {
    auto [rows, panels] = fewRowsTileOf(contractionOf(root), target);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(root.getNumLoops()));
    std::swap(order[0], order[1]);
    auto loops =
        fuseTile(rewriter, root, sizes(rewriter, {rows, panels}), order, /*parallel=*/false);
    if (failed(loops))
      return failure();
    rowLoops.push_back({cast<scf::ForOp>(loops->back().getOperation()), rows});
    auto loop = cast<scf::ForOp>(loops->front().getOperation());
    scf::ForOp rest;
    if (failed(scf::peelForLoopAndSimplifyBounds(rewriter, loop, rest)))
      return success(); // a static number of panels that the step divides
    for (affine::AffineMinOp size : tileSizes(loop, panels)) {
      rewriter.setInsertionPoint(size);
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(size, panels);
    }
    for (linalg::GenericOp left : roots(rest))
      if (failed(fuseTile(rewriter, left, sizes(rewriter, {1, 1}), order, /*parallel=*/false)))
        return failure();
    return success();
  }

  /// What register tiles are made of: epilogues, and contractions without one.
  static SmallVector<linalg::GenericOp> roots(Operation *op) {
    SmallVector<linalg::GenericOp> found = epilogues(op);
    found.append(collect(op, [](Operation *o) { return isPart(o, LinearPart::Partial); }));
    return found;
  }

  static linalg::GenericOp contractionOf(linalg::GenericOp root) {
    if (isContraction(root))
      return root;
    return root.getDpsInitOperand(0)->get().getDefiningOp<linalg::GenericOp>();
  }

  /// Rows left over: tiles of half the rows, and so on down to one.
  LogicalResult tileRemainders(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    while (!rowLoops.empty()) {
      auto [loop, rows] = rowLoops.pop_back_val();
      if (rows == 1)
        continue;
      FailureOr<scf::ForOp> rest = splitOffRest(rewriter, loop, rows);
      if (failed(rest))
        continue; // a static number of rows that the step divides
      for (linalg::GenericOp root : roots(*rest)) {
        int64_t next = nextRows(rows);
        auto loops = fuseTile(rewriter, root, sizes(rewriter, {next}), {}, /*parallel=*/false);
        if (failed(loops))
          return failure();
        rowLoops.push_back({cast<scf::ForOp>(loops->front().getOperation()), next});
      }
    }
    return rewriteTiles(function, patterns);
  }

  /// Leaves the full tiles to `loop`; returns a loop of at most one iteration over
  /// the rows behind them.
  static FailureOr<scf::ForOp> splitOffRest(IRRewriter &rewriter, scf::ForOp loop, int64_t rows) {
    scf::ForOp rest;
    if (llvm::isPowerOf2_64(rows)) {
      if (failed(scf::peelForLoopAndSimplifyBounds(rewriter, loop, rest)))
        return failure();
    } else {
      rest = splitOffFours(rewriter, loop, rows);
    }
    for (affine::AffineMinOp size : tileSizes(loop, rows)) {
      rewriter.setInsertionPoint(size);
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(size, rows);
    }
    return rest;
  }

  /// A tile of two rows keeps half of the multiply-add units busy and takes as
  /// long as one of four: if two or three rows are left over, the last full tile
  /// and they become tiles of four (and one).
  static scf::ForOp splitOffFours(IRRewriter &rewriter, scf::ForOp loop, int64_t rows) {
    rewriter.setInsertionPoint(loop);
    ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
    auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    Value all = loop.getUpperBound(), over = arith::RemUIOp::create(b, all, constant(rows));
    // over - 2 is below 2 for those alone.
    Value few = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                      arith::SubIOp::create(b, over, constant(2)), constant(2));
    Value taken = arith::SelectOp::create(b, few, constant(rows), constant(0));
    Value full = arith::SubIOp::create(b, all, over);
    full = arith::SubIOp::create(b, full, arith::MinUIOp::create(b, full, taken));
    rewriter.setInsertionPointAfter(loop);
    auto rest = cast<scf::ForOp>(rewriter.clone(*loop));
    rewriter.replaceAllUsesWith(loop.getResults(), rest.getResults());
    loop.setUpperBound(full);
    rest.setLowerBound(full);
    rest.getInitArgsMutable().assign(loop.getResults());
    rest.setStep(constant(2 * rows)); // one iteration
    for (affine::AffineMinOp size : tileSizes(rest, rows)) {
      AffineMap map = size.getMap();
      SmallVector<AffineExpr> results(map.getResults());
      llvm::replace(results, b.getAffineConstantExpr(rows), b.getAffineConstantExpr(2 * rows));
      size.setMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, b.getContext()));
    }
    return rest;
  }

  /// What computes the rows of a tile in `loop`: `rows`, or fewer at the end.
  static SmallVector<affine::AffineMinOp> tileSizes(scf::ForOp loop, int64_t rows) {
    SmallVector<affine::AffineMinOp> sizes;
    AffineExpr full = getAffineConstantExpr(rows, loop.getContext());
    loop.getBody()->walk([&](affine::AffineMinOp op) {
      if (llvm::is_contained(op.getOperands(), loop.getInductionVar()) &&
          llvm::is_contained(op.getMap().getResults(), full))
        sizes.push_back(op);
    });
    return sizes;
  }
  static int64_t nextRows(int64_t rows) { return rows == 6 ? 4 : rows / 2; }

  static SmallVector<OpFoldResult> sizes(OpBuilder &b, ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values,
                               [&](int64_t v) -> OpFoldResult { return b.getIndexAttr(v); });
  }

  cpu::TargetAttr target;
  FrozenRewritePatternSet patterns;
  SmallVector<std::pair<scf::ForOp, int64_t>> rowLoops; // and the rows of a full tile
};

} // namespace
