//===- VectorizeLinear.cpp - register tiles of linear layers on vectors ---===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
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
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A contraction of a tile of rows, or of one row and several panels, over one
/// step: fused multiply-adds of scalars of x and rows of the panel. linalg's own
/// vectorisation would broadcast both operands first.
class StepEmitter {
public:
  StepEmitter(IRRewriter &rewriter, linalg::GenericOp op)
      : b(op.getLoc(), rewriter), x(rowsOf(op)), panels(panelsOf(op)), sums(op.getOutputs()[0]),
        format(formatOf(op)) {
    auto type = cast<RankedTensorType>(sums.getType());
    rows = type.getDimSize(0);
    numPanels = type.getDimSize(1);
    row = VectorType::get({type.getDimSize(2)}, type.getElementType());
    panelRow = row.clone(cast<RankedTensorType>(panels.getType()).getElementType());
    accumulator = VectorType::get(type.getShape(), type.getElementType());
    zero = arith::ConstantIndexOp::create(b, 0);
    if (Value behindX = op.getInputs()[format.places()]; behindX != panels)
      scales = behindX;
  }

  Value emit() {
    Value acc = read(accumulator, sums, {zero, zero, zero});
    SmallVector<Value> parts;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = 0; p < numPanels; ++p)
        parts.push_back(vector::ExtractOp::create(b, acc, ArrayRef<int64_t>{i, p}));
    if (format.words())
      addGroup(parts);
    else
      addStep(parts);
    for (auto [i, part] : llvm::enumerate(parts)) {
      int64_t place = i;
      acc = vector::InsertOp::create(b, part, acc,
                                     ArrayRef<int64_t>{place / numPanels, place % numPanels});
    }
    SmallVector<Value> origin(3, zero);
    SmallVector<bool> inBounds(3, true);
    return vector::TransferWriteOp::create(b, acc, sums, origin, inBounds).getResult();
  }

private:
  void addStep(MutableArrayRef<Value> parts) {
    auto at = [&](int64_t place, int64_t of) { return of > 1 ? index(place) : Value(); };
    LinearStep step{
        rows,
        numPanels,
        row,
        [&](int64_t i, int64_t place) { return factor(i, Value(), at(place, format.places())); },
        [&](int64_t p, int64_t place) { return weights(p, at(place, format.panelRows())); },
        [&](int64_t p) { return scale(p); }};
    format.addStep(b, step, parts);
  }

  using Sums = SmallVector<Value>;

  /// A loop that carries `sums`.
  Sums loop(int64_t count, const Sums &sums, function_ref<void(Value, Sums &)> body) {
    auto op = scf::ForOp::create(b, zero, index(count), index(1), sums,
                                 [&](OpBuilder &nested, Location, Value i, ValueRange args) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(nested.getInsertionBlock());
                                   Sums inside(args);
                                   body(i, inside);
                                   scf::YieldOp::create(b, inside);
                                 });
    return Sums(op.getResults());
  }

  /// A loop over the words of the group, from what x says; then its scale. In a tall tile also a
  /// loop over the weights of a word: LLVM's scheduler would unpack all of them first, and spill.
  void addGroup(MutableArrayRef<Value> parts) {
    constexpr int64_t few = 2;
    int64_t last = format.places() - 2;
    Sums sums;
    for (int64_t i = 0; i < rows; ++i)
      sums.append(numPanels, factor(i, zero, index(last + 1)));
    sums = loop(format.words(), sums, [&](Value word, Sums &inside) {
      if (rows > few)
        inside = loop(last, inside, [&](Value u, Sums &of) { addWeight(of, word, u); });
      else
        for (int64_t u = 0; u < last; ++u)
          addWeight(inside, word, b.getIndexAttr(u));
      addWeight(inside, word, b.getIndexAttr(last));
    });
    for (int64_t p = 0; p < numPanels; ++p) {
      Value scale = this->scale(p);
      for (int64_t i = 0; i < rows; ++i) {
        Value &part = parts[i * numPanels + p];
        part = emitMultiplyAdd(b, scale, sums[i * numPanels + p], part);
      }
    }
  }

  /// Weight u of a word, of all rows.
  void addWeight(Sums &sums, Value word, OpFoldResult u) {
    Value place = getValueOrCreateConstantIndexOp(b, b.getLoc(), u);
    for (int64_t p = 0; p < numPanels; ++p) {
      Value weight = format.weightOfWord(b, weights(p, word), u, row);
      for (int64_t i = 0; i < rows; ++i) {
        Value &sum = sums[i * numPanels + p];
        sum = emitMultiplyAdd(b, factor(i, word, place), weight, sum);
      }
    }
  }

  Value scale(int64_t panel) {
    auto type = row.clone(cast<RankedTensorType>(scales.getType()).getElementType());
    return arith::ExtFOp::create(b, row, read(type, scales, {index(panel), zero, zero}));
  }

  /// The row of the panel in the step; read where it is needed, so that it takes a
  /// register no longer than that.
  Value weights(int64_t panel, Value place) {
    SmallVector<Value> at = {index(panel), zero, zero};
    if (place)
      at.insert(at.begin() + 2, place);
    return read(panelRow, panels, at);
  }

  /// A place of the step, or of a word of the group.
  Value factor(int64_t i, Value word, Value place) {
    SmallVector<Value> at = {index(i), zero};
    for (Value more : {word, place})
      if (more)
        at.push_back(more);
    Value scalar = tensor::ExtractOp::create(b, x, at);
    return vector::BroadcastOp::create(b, row.clone(scalar.getType()), scalar);
  }

  Value index(int64_t i) { return i ? arith::ConstantIndexOp::create(b, i) : zero; }

  Value read(VectorType vector, Value tensor, ValueRange at) {
    SmallVector<bool> inBounds(vector.getRank(), true);
    return vector::TransferReadOp::create(b, vector, tensor, at, std::nullopt, inBounds);
  }

  ImplicitLocOpBuilder b;
  Value x, panels, scales, sums, zero;
  const LinearFormat &format;
  int64_t rows, numPanels;
  VectorType row, panelRow, accumulator;
};

LogicalResult tileK(func::FuncOp function, const FrozenRewritePatternSet &patterns) {
  IRRewriter rewriter(function.getContext());
  for (linalg::GenericOp contraction : contractions(function)) {
    scf::SCFTilingOptions options;
    SmallVector<OpFoldResult> sizes(3, rewriter.getIndexAttr(0));
    sizes.push_back(rewriter.getIndexAttr(1));
    options.setTileSizes(sizes);
    rewriter.setInsertionPoint(contraction);
    auto tiled =
        scf::tileUsingSCF(rewriter, cast<TilingInterface>(contraction.getOperation()), options);
    if (failed(tiled))
      return contraction.emitOpError("could not be tiled over k");
    if (!tiled->loops.empty()) {
      auto sums = cast<RankedTensorType>(contraction.getOutputs()[0].getType());
      markPart(tiled->loops.front(), LinearPart::Loop, linearMark(contraction).getFormat(),
               stepsOf(contraction), 0, sums.getDimSize(1));
    }
    rewriter.replaceOp(contraction, tiled->replacements);
  }
  return rewriteTiles(function, patterns);
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

/// Inputs that are read at a constant place of some dimension become slices there
/// without it, which linalg can vectorise.
linalg::GenericOp sliceConstantPlaces(IRRewriter &rewriter, linalg::GenericOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Value> inputs(op.getInputs());
  bool any = false;
  for (auto [input, map] : llvm::zip(inputs, maps)) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), input);
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
    llvm::SmallBitVector constant(sizes.size());
    SmallVector<int64_t> shape;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto place = dyn_cast<AffineConstantExpr>(expr);
      if (!place) {
        shape.push_back(type.getDimSize(dim));
        continue;
      }
      constant.set(dim);
      offsets[dim] = b.getIndexAttr(place.getValue());
      sizes[dim] = b.getIndexAttr(1);
    }
    if (constant.none())
      continue;
    input = tensor::ExtractSliceOp::create(b, cast<RankedTensorType>(type.clone(shape)), input,
                                           offsets, sizes, strides);
    map = map.dropResults(constant);
    any = true;
  }
  if (!any)
    return op;
  SmallVector<Value> operands = inputs;
  operands.append(op.getOutputs().begin(), op.getOutputs().end());
  auto sliced = cast<linalg::GenericOp>(mlir::clone(b, op, op->getResultTypes(), operands));
  sliced.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  rewriter.replaceOp(op, sliced);
  return sliced;
}

LogicalResult vectorize(func::FuncOp function, const FrozenRewritePatternSet &patterns) {
  MLIRContext *context = function.getContext();
  IRRewriter rewriter(context);
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) {
    if (linearMark(op) || (isa<linalg::FillOp>(op) && op->getParentOfType<scf::ForOp>()))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (isContraction(op)) {
      auto contraction = cast<linalg::GenericOp>(op.getOperation());
      rewriter.replaceOp(op, StepEmitter(rewriter, contraction).emit());
      continue;
    }
    if (auto epilogue = dyn_cast<linalg::GenericOp>(op.getOperation()))
      op = cast<linalg::LinalgOp>(sliceConstantPlaces(rewriter, epilogue).getOperation());
    rewriter.setInsertionPoint(op);
    auto vectorized = linalg::vectorize(rewriter, op);
    if (failed(vectorized))
      return op->emitOpError("could not be vectorised");
    rewriter.replaceOp(op, vectorized->replacements);
  }
  if (failed(rewriteTiles(function, patterns)))
    return failure();
  // The accumulator becomes a value carried by the loop over k.
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    if (isPart(loop, LinearPart::Loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    DictionaryAttr marks = loop->getDiscardableAttrDictionary();
    LoopLikeOpInterface hoisted =
        hoistLoopInvariantSubsets(rewriter, cast<LoopLikeOpInterface>(loop.getOperation()));
    hoisted->setDiscardableAttrs(marks);
  }
  if (failed(rewriteTiles(function, patterns)))
    return failure();
  function.walk([&](scf::ForOp loop) {
    if (isPart(loop, LinearPart::Loop))
      countFromBlock(rewriter, loop);
  });
  return success();
}

struct VectorizeLinearPass : mlir::transformer::impl::VectorizeLinearBase<VectorizeLinearPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet found(context);
    // Reads and writes of slices become reads and writes of what they are taken from.
    tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(found);
    patterns = tilePatterns(std::move(found));
    return success();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (contractions(function).empty() && epilogues(function).empty())
      return;
    if (failed(tileK(function, patterns)) || failed(vectorize(function, patterns)))
      return signalPassFailure();
    WalkResult left = function.walk([](linalg::GenericOp op) {
      if (!linearMark(op))
        return WalkResult::advance();
      op.emitOpError("is left after vectorising linear layers");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace
