//===- GradientPatterns.cpp - losses, and the backward of ops -------------===//
#include "codegen/linalg/Patterns.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

using Rewriter = ConversionPatternRewriter;

Value emptyLike(Rewriter &b, Location loc, Value like, ArrayRef<int64_t> columns) {
  SmallVector<int64_t> shape = {cast<RankedTensorType>(like.getType()).getDimSize(0)};
  llvm::append_range(shape, columns);
  SmallVector<Value> rows;
  if (ShapedType::isDynamic(shape[0]))
    rows.push_back(tensor::DimOp::create(b, loc, like, 0));
  return tensor::EmptyOp::create(b, loc, shape, b.getF32Type(), rows);
}

struct ConvertShiftLabels : OpConversionPattern<ShiftLabelsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ShiftLabelsOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, op.getLoc(), adaptor.getLabels());
    Value out = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes, type.getElementType());
    out = rewriter.createOrFold<tensor::CastOp>(op.getLoc(), type, out);
    rewriter.replaceOpWithNewOp<kernel::ShiftLabelsOp>(op, TypeRange{type}, adaptor.getLabels(),
                                                       ValueRange{out}, op.getIgnoreIndexAttr());
    return success();
  }
};

struct ConvertCrossEntropy : OpConversionPattern<CrossEntropyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CrossEntropyOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value logits = adaptor.getLogits();
    Value loss = emptyRows(rewriter, op.getLoc(), op.getLoss(), logits);
    Value losses = emptyLike(rewriter, op.getLoc(), logits, {});
    auto converted = kernel::CrossEntropyOp::create(
        rewriter, op.getLoc(), TypeRange{loss.getType(), losses.getType()}, logits,
        adaptor.getLabels(), ValueRange{loss, losses}, op.getIgnoreIndexAttr(),
        op.getPaddingIndexAttr(), op.getLabelSmoothingAttr());
    rewriter.replaceOp(op, converted.getResult(0));
    return success();
  }
};

struct ConvertCrossEntropyGradient : OpConversionPattern<CrossEntropyGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CrossEntropyGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getDlogits(), adaptor.getLogits());
    rewriter.replaceOpWithNewOp<kernel::CrossEntropyGradientOp>(
        op, TypeRange{out.getType()}, adaptor.getLogits(), adaptor.getLabels(), adaptor.getDloss(),
        /*softmax=*/Value(), ValueRange{out}, op.getIgnoreIndexAttr(), op.getPaddingIndexAttr(),
        op.getLabelSmoothingAttr());
    return success();
  }
};

struct ConvertElementLoss : OpConversionPattern<ElementLossOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ElementLossOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getLoss(), adaptor.getX());
    rewriter.replaceOpWithNewOp<kernel::ElementLossOp>(op, TypeRange{out.getType()}, adaptor.getX(),
                                                       adaptor.getLabels(), ValueRange{out},
                                                       op.getKind());
    return success();
  }
};

struct ConvertElementLossGradient : OpConversionPattern<ElementLossGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ElementLossGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getDx(), adaptor.getX());
    rewriter.replaceOpWithNewOp<kernel::ElementLossGradientOp>(
        op, TypeRange{out.getType()}, adaptor.getX(), adaptor.getLabels(), adaptor.getDloss(),
        ValueRange{out}, op.getKind());
    return success();
  }
};

struct ConvertSpanLoss : OpConversionPattern<SpanLossOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SpanLossOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value logits = adaptor.getLogits().front();
    Value out = emptyRows(rewriter, op.getLoc(), op.getLoss(), logits);
    rewriter.replaceOpWithNewOp<kernel::SpanLossOp>(op, TypeRange{out.getType()}, logits, of.cu,
                                                    of.rows, adaptor.getPositions().front(),
                                                    of.length, ValueRange{out}, op.getColumnAttr());
    return success();
  }
};

struct ConvertSpanLossGradient : OpConversionPattern<SpanLossGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SpanLossGradientOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value logits = adaptor.getLogits().front();
    Value out = emptyRows(rewriter, op.getLoc(), op.getDlogits(), logits);
    rewriter.replaceOpWithNewOp<kernel::SpanLossGradientOp>(
        op, TypeRange{out.getType()}, logits, of.cu, of.rows, adaptor.getPositions().front(),
        of.length, adaptor.getDloss().front(), ValueRange{out}, op.getColumnAttr());
    return success();
  }
};

struct ConvertCountLabels : OpConversionPattern<CountLabelsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CountLabelsOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getCount(), adaptor.getLabels());
    rewriter.replaceOpWithNewOp<kernel::CountLabelsOp>(
        op, TypeRange{out.getType()}, adaptor.getLabels(), ValueRange{out}, op.getIgnoreIndexAttr(),
        op.getPaddingIndexAttr());
    return success();
  }
};

struct ConvertCountSpans : OpConversionPattern<CountSpansOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CountSpansOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getCount(), adaptor.getPositions().front());
    rewriter.replaceOpWithNewOp<kernel::CountSpansOp>(op, TypeRange{out.getType()}, of.cu, of.rows,
                                                      adaptor.getPositions().front(), of.length,
                                                      ValueRange{out});
    return success();
  }
};

/// A matrix product over the tokens.
struct ConvertLinearWeightGradient : OpConversionPattern<LinearWeightGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LinearWeightGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Value before = adaptor.getOnto();
    if (!before) {
      Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
      Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(), type.getElementType());
      before = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    }
    SmallVector<Value> inputs = {adaptor.getDy(), adaptor.getX()};
    if (op.getLayout() == WeightLayout::InOut)
      std::swap(inputs[0], inputs[1]);
    auto product = linalg::MatmulTransposeAOp::create(rewriter, loc, inputs, before);
    rewriter.replaceOp(op, product.getResult(0));
    return success();
  }
};

struct ConvertSumRows : OpConversionPattern<SumRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SumRowsOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), {});
    rewriter.replaceOpWithNewOp<kernel::SumRowsOp>(op, TypeRange{out.getType()}, adaptor.getX(),
                                                   ValueRange{out});
    return success();
  }
};

template <typename OpTy> struct ConvertNormGradient : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                Rewriter &rewriter) const override {
    Value x = adaptor.getX();
    SmallVector<Value> outs;
    for (Value result : op->getResults())
      outs.push_back(emptyRows(rewriter, op.getLoc(), result, x));
    int64_t parts = widthOf(x) / cast<RankedTensorType>(op.getGamma().getType()).getDimSize(0);
    outs.push_back(emptyLike(rewriter, op.getLoc(), x, {2 * parts}));
    bool rms = std::is_same_v<OpTy, RmsNormGradientOp>;
    auto converted = kernel::NormGradientOp::create(
        rewriter, op.getLoc(), ValueRange(outs).getTypes(), x, adaptor.getGamma(), adaptor.getDy(),
        adaptor.getOnto(), outs, op.getNorm(), rms ? rewriter.getUnitAttr() : UnitAttr());
    rewriter.replaceOp(op, converted.getResults().drop_back());
    return success();
  }
};

struct ConvertEmbeddingGradient : OpConversionPattern<EmbeddingGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(EmbeddingGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value onto = adaptor.getOnto();
    SmallVector<Value> outs = {onto ? onto : emptyRows(rewriter, op.getLoc(), op.getDtable(), {})};
    if (op.getSquares()) {
      int64_t width = cast<RankedTensorType>(op.getDtable().getType()).getDimSize(1);
      outs.push_back(emptyRows(rewriter, op.getLoc(), op.getSquares(), {}));
      outs.push_back(
          tensor::EmptyOp::create(rewriter, op.getLoc(), {width}, rewriter.getF32Type()));
    }
    auto kernel = kernel::EmbeddingGradientOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(outs)), adaptor.getIds(), adaptor.getDy(), outs,
        op.getScaleAttr(), op.getPaddingIndexAttr(), onto ? rewriter.getUnitAttr() : UnitAttr());
    rewriter.replaceOp(op, kernel.getResults().take_front(op.getSquares() ? 2 : 1));
    return success();
  }
};

struct ConvertRotaryGradient : OpConversionPattern<RotaryEmbeddingGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RotaryEmbeddingGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getDx(), adaptor.getDy());
    rewriter.replaceOpWithNewOp<kernel::RotaryEmbeddingOp>(
        op, TypeRange{out.getType()}, adaptor.getDy(), adaptor.getTable(), ValueRange{out},
        op.getNumHeadsAttr(), rewriter.getUnitAttr());
    return success();
  }
};

struct ConvertWindowsGradient : OpConversionPattern<WindowsGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WindowsGradientOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues windows(adaptor.getResultSequences()), tokens(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getDx(), tokens.rows);
    rewriter.replaceOpWithNewOp<kernel::WindowsGradientOp>(
        op, TypeRange{out.getType()}, adaptor.getDy().front(), windows.cu, tokens.cu,
        ValueRange{out}, op.getStrideAttr(), op.getPaddingAttr());
    return success();
  }
};

struct ConvertRelativeScoresGradient : OpConversionPattern<RelativeScoresGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RelativeScoresGradientOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value x = adaptor.getX(), table = adaptor.getTable();
    Value dx = emptyRows(rewriter, op.getLoc(), op.getDx(), x);
    Value dtable = emptyRows(rewriter, op.getLoc(), op.getDtable(), table);
    rewriter.replaceOpWithNewOp<kernel::RelativeScoresGradientOp>(
        op, TypeRange{dx.getType(), dtable.getType()}, x, table, adaptor.getDy(),
        ValueRange{dx, dtable}, op.getNumHeadsAttr());
    return success();
  }
};

struct ConvertTokenGradient : OpConversionPattern<TokenGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TokenGradientOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getDx(), of.rows);
    rewriter.replaceOpWithNewOp<kernel::TokenGradientOp>(op, TypeRange{out.getType()},
                                                         adaptor.getDy().front(), of.cu,
                                                         ValueRange{out}, op.getLastAttr());
    return success();
  }
};

struct ConvertDropout : OpConversionPattern<DropoutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(DropoutOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    if (!adaptor.getKey()) {
      rewriter.replaceOp(op, adaptor.getX());
      return success();
    }
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getX());
    rewriter.replaceOpWithNewOp<kernel::DropoutOp>(op, TypeRange{out.getType()}, adaptor.getX(),
                                                   adaptor.getKey(), ValueRange{out},
                                                   op.getRateAttr());
    return success();
  }
};

struct ConvertAttentionGradient : OpConversionPattern<AttentionGradientOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AttentionGradientOp op, OneToNOpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    SequenceValues queries(adaptor.getQuerySequences()), keys(adaptor.getKeySequences());
    Value q = adaptor.getQ().front(), k = adaptor.getK().front(), v = adaptor.getV().front();
    auto optional = [](ValueRange values) { return values.empty() ? Value() : values.front(); };
    Value bias = optional(adaptor.getPositionBias());
    Value queryScores = optional(adaptor.getQueryScores());
    Value keyScores = optional(adaptor.getKeyScores());
    SmallVector<Value> outs, shapes = {q, k, v};
    for (Value given : {bias, queryScores, keyScores})
      if (given)
        shapes.push_back(given);
    for (auto [result, like] : llvm::zip(op->getResults(), shapes))
      outs.push_back(emptyRows(rewriter, op.getLoc(), result, like));
    if (bias)
      outs.push_back(biasScratch(op, queries.cu, rewriter));
    auto converted = kernel::AttentionGradientOp::create(
        rewriter, op.getLoc(), ValueRange(outs).getTypes(), q, k, v, adaptor.getResult().front(),
        adaptor.getLogSumExp().front(), adaptor.getDresult().front(), queries.cu, keys.cu,
        optional(adaptor.getScaleFactor()), bias, queryScores, keyScores,
        columnsOfDistances(rewriter, op.getLoc(), op.getColumns()),
        optional(adaptor.getDropoutKey()), outs, op.getNumHeadsAttr(),
        rewriter.getI64IntegerAttr(op.kvHeads()), op.getScaleAttr(), op.getOptions());
    rewriter.replaceOp(op, converted.getResults().take_front(op->getNumResults()));
    return success();
  }

private:
  /// What each sequence adds to the gradient of position_bias: `[B, heads, P]`.
  static Value biasScratch(AttentionGradientOp op, Value offsets, Rewriter &b) {
    auto bias = cast<RankedTensorType>(op.getPositionBias().getType());
    Value one = arith::ConstantIndexOp::create(b, op.getLoc(), 1);
    Value batch = tensor::DimOp::create(b, op.getLoc(), offsets, 0);
    batch = arith::SubIOp::create(b, op.getLoc(), batch, one);
    SmallVector<int64_t> shape = {ShapedType::kDynamic, bias.getDimSize(0),
                                  bias.getRank() > 1 ? bias.getDimSize(1) : 1};
    return tensor::EmptyOp::create(b, op.getLoc(), shape, b.getF32Type(), batch);
  }
};

struct ConvertSplat : OpConversionPattern<tensor::SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    Value empty =
        tensor::EmptyOp::create(rewriter, op.getLoc(), op.getType(), adaptor.getDynamicSizes());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, adaptor.getInput(), empty);
    return success();
  }
};

struct ConvertConcat : OpConversionPattern<tensor::ConcatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op, OpAdaptor adaptor,
                                Rewriter &rewriter) const override {
    if (!isConcatOfRows(op))
      return failure();
    Location loc = op.getLoc();
    Value all = emptyRows(rewriter, loc, op.getResult(), adaptor.getInputs().front());
    int64_t column = 0;
    for (Value part : adaptor.getInputs()) {
      SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, part);
      SmallVector<OpFoldResult> offsets = {rewriter.getIndexAttr(0), rewriter.getIndexAttr(column)};
      SmallVector<OpFoldResult> strides(2, rewriter.getIndexAttr(1));
      all = tensor::InsertSliceOp::create(rewriter, loc, part, all, offsets, sizes, strides);
      column += widthOf(part);
    }
    rewriter.replaceOp(op, all);
    return success();
  }
};

} // namespace

bool mlir::transformer::isConcatOfRows(Operation *op) {
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  return concat && concat.getDim() == 1 && concat.getResultType().getRank() == 2 &&
         concat.getResultType().isDynamicDim(0);
}

void mlir::transformer::populateGradientPatterns(const TypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns
      .add<ConvertShiftLabels, ConvertCrossEntropy, ConvertCrossEntropyGradient, ConvertElementLoss,
           ConvertElementLossGradient, ConvertSpanLoss, ConvertSpanLossGradient, ConvertCountLabels,
           ConvertCountSpans, ConvertLinearWeightGradient, ConvertSumRows,
           ConvertNormGradient<LayerNormGradientOp>, ConvertNormGradient<RmsNormGradientOp>,
           ConvertEmbeddingGradient, ConvertRotaryGradient, ConvertWindowsGradient,
           ConvertRelativeScoresGradient, ConvertTokenGradient, ConvertDropout,
           ConvertAttentionGradient, ConvertSplat, ConvertConcat>(converter, patterns.getContext());
}
