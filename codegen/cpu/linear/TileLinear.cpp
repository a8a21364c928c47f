//===- TileLinear.cpp - linear layers to register tiles -------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
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
    patterns = tilePatterns(context);
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
  /// Tasks: `rowBlock` rows, whose inputs take half of the second-level cache,
  /// by a few panels. Where weights are packed in each call a task packs its own panels, and takes
  /// all rows through them.
  LogicalResult tileTasks(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp epilogue : epilogues(function)) {
      linalg::GenericOp contraction = contractionOf(epilogue);
      const LinearFormat &format = formatOf(contraction);
      auto work = epilogue->getAttrOfType<DictionaryAttr>(kWorkAttr);
      rewriter.setInsertionPoint(epilogue);
      Value rows = tensor::DimOp::create(rewriter, epilogue.getLoc(), epilogue.getDpsInits()[0], 0);
      OpFoldResult all = rewriter.getIndexAttr(0),
                   rowsOfBlock = rowBlock(rewriter, rows, format, blockOfK(contraction));
      cpu::PackWeightOp pack = packForTasks(contraction, epilogue);
      OpFoldResult panels = pack ? rewriter.getIndexAttr(panelsToPack(contraction, pack))
                                 : panelBlock(rewriter, contraction, rows);
      auto loops = fuseTile(rewriter, epilogue, {pack ? all : rowsOfBlock, panels, all}, {},
                            /*parallel=*/true);
      if (failed(loops))
        return failure();
      if (pack) {
        Operation *task = loops->front();
        moveIntoTasks(rewriter, pack, cast<scf::ForallOp>(task), *getConstantIntValue(panels),
                      target.getPacksAhead());
        for (linalg::GenericOp inTask : epilogues(task))
          if (failed(fuseTile(rewriter, inTask, {rowsOfBlock, all, all}, {}, /*parallel=*/false)))
            return failure();
      }
      if (work)
        setWork(rewriter, cast<scf::ForallOp>(loops->front()), work, rows);
    }
    return success();
  }

  /// Rows of a task: at most those whose inputs take half of the second-level
  /// cache, and equal shares of the rows that there are.
  OpFoldResult rowBlock(OpBuilder &builder, Value rows, const LinearFormat &format,
                        int64_t k) const {
    int64_t tile = format.tileRows(target);
    int64_t most = std::max(target.getL2Bytes() / 2 / format.rowBytes(k) / tile, int64_t(2)) * tile;
    ImplicitLocOpBuilder b(rows.getLoc(), builder);
    auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    auto ceilDiv = [&](Value x, Value y) -> Value { return arith::CeilDivUIOp::create(b, x, y); };
    Value blocks = ceilDiv(rows, constant(most));
    blocks = arith::MaxUIOp::create(b, blocks, constant(1)); // no rows, no blocks
    Value tiles = ceilDiv(ceilDiv(rows, blocks), constant(tile));
    tiles = arith::MaxUIOp::create(b, tiles, constant(1));
    return arith::MulIOp::create(b, tiles, constant(tile)).getResult();
  }

  /// Panels of a task: few, so that threads end together, but enough for a task
  /// to be long beside what handing it out costs, and for few rows what one of them
  /// goes through at once.
  OpFoldResult panelBlock(OpBuilder &builder, linalg::GenericOp contraction, Value rows) const {
    ImplicitLocOpBuilder b(contraction.getLoc(), builder);
    int64_t all = numPanels(contraction), many = panelsOfTask(contraction);
    int64_t few = std::min<int64_t>(llvm::alignTo(many, fewRowsTile(contraction).panels), all);
    if (few == many)
      return b.getIndexAttr(many);
    auto size = [&](int64_t panels) { return arith::ConstantIndexOp::create(b, panels); };
    return arith::SelectOp::create(b, isFew(b, rows), size(few), size(many)).getResult();
  }
  static Value isFew(ImplicitLocOpBuilder &b, Value rows) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rows,
                                 arith::ConstantIndexOp::create(b, kFewRows));
  }
  int64_t panelsOfTask(linalg::GenericOp contraction) const {
    int64_t least = llvm::divideCeil(target.getTaskBytes(), panelBytes(contraction));
    return std::min(least, numPanels(contraction));
  }
  /// The rows of a weight `in_out` are read in pieces, which matrix registers want longer: what is
  /// multiplied takes less time than reading it.
  int64_t panelsToPack(linalg::GenericOp contraction, cpu::PackWeightOp pack) const {
    bool inPairs = formatOf(contraction).usesMatrixRegisters() &&
                   pack.getLayout() == WeightLayout::InOut && numPanels(contraction) > 1;
    return std::max<int64_t>(panelsOfTask(contraction), inPairs ? 2 : 1);
  }
  /// What packs the weight, if that is for this layer alone and a panel stays in the second-level
  /// cache while rows pass.
  cpu::PackWeightOp packForTasks(linalg::GenericOp contraction, linalg::GenericOp epilogue) const {
    auto pack = panelsOf(contraction).getDefiningOp<cpu::PackWeightOp>();
    if (!pack || panelBytes(contraction) > mostPanelBytes(target) || !canPackInTasks(pack))
      return {};
    bool isAlone = llvm::all_of(
        pack->getUsers(), [&](Operation *user) { return user == contraction || user == epilogue; });
    return isAlone ? pack : cpu::PackWeightOp();
  }
  static int64_t panelBytes(linalg::GenericOp contraction) {
    auto type = cast<RankedTensorType>(panelsOf(contraction).getType());
    return ShapedType::getNumElements(type.getShape().drop_front()) *
           type.getElementTypeBitWidth() / 8;
  }

  /// Tasks of fewer rows than that have tiles of several panels, if their format says so.
  static constexpr int64_t kFewRows = 4;

  FewRowsTile fewRowsTile(linalg::GenericOp contraction) const {
    FewRowsTile tile = formatOf(contraction).fewRowsTile(target);
    return tile.panels <= numPanels(contraction) ? tile : FewRowsTile{1, 1};
  }
  /// Of the layer, not of the task.
  static int64_t numPanels(linalg::GenericOp contraction) {
    Value panels = panelsOf(contraction);
    while (auto slice = panels.getDefiningOp<tensor::ExtractSliceOp>())
      panels = slice.getSource();
    return cast<RankedTensorType>(panels.getType()).getDimSize(0);
  }

  /// A copy of the task for when it has few rows, in an scf.if.
  void separateFewRows(func::FuncOp function) const {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp epilogue : epilogues(function)) {
      linalg::GenericOp contraction = contractionOf(epilogue);
      if (fewRowsTile(contraction).panels == 1)
        continue;
      SmallVector<Operation *> ops = {contraction, epilogue};
      if (auto fill = contraction.getOutputs()[0].getDefiningOp<linalg::FillOp>())
        ops.insert(ops.begin(), fill);
      rewriter.setInsertionPoint(epilogue);
      ImplicitLocOpBuilder b(epilogue.getLoc(), rewriter);
      Value rows = tensor::DimOp::create(b, epilogue.getDpsInits()[0], 0);
      Value few = isFew(b, rows);
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

  /// How many of k a task goes through before it turns to its next rows, a
  /// multiple of the products of a step. All, if the panel and the one fetched
  /// meanwhile leave half of the second-level cache to the rows; else equal shares
  /// so short that current and next block take a fifth (longer and shorter ones
  /// were measured slower).
  int64_t blockOfK(linalg::GenericOp contraction) const {
    const LinearFormat &format = formatOf(contraction);
    int64_t k = format.products() * stepsOf(contraction), bytes = panelBytes(contraction);
    if (bytes <= mostPanelBytes(target) || format.usesMatrixRegisters())
      return k;
    int64_t share = llvm::divideCeil(k, llvm::divideCeil(bytes, target.getL2Bytes() / 10));
    return llvm::alignTo(share, format.sumSteps() * format.products());
  }

  /// Contractions over a long k: all blocks but the last become a loop that adds
  /// to the sums in memory, the last stays before the epilogue. Each sum still
  /// goes through k from first to last.
  LogicalResult blockK(func::FuncOp function) {
    IRRewriter rewriter(function.getContext());
    for (linalg::GenericOp contraction : contractions(function)) {
      int64_t steps = stepsOf(contraction), products = formatOf(contraction).products();
      int64_t block = blockOfK(contraction) / products;
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
    auto [rows, panels] = fewRowsTile(contractionOf(root));
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
