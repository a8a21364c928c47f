//===- SequencePatterns.cpp - padding dropped and put back ----------------===//
#include "codegen/linalg/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::transformer;

SmallVector<Type> SequenceValues::types(MLIRContext *context) {
  Type index = IndexType::get(context);
  Type indices = RankedTensorType::get({ShapedType::kDynamic}, index);
  return {indices, indices, index};
}

namespace {

/// Sequences: one more offset than there are.
Value batchOf(OpBuilder &b, Location loc, Value cu) {
  Value offsets = tensor::DimOp::create(b, loc, cu, 0);
  return arith::SubIOp::create(b, loc, offsets, arith::ConstantIndexOp::create(b, loc, 1));
}

struct ConvertPackTokens : OpConversionPattern<PackTokensOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PackTokensOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value mask = adaptor.getMask();
    auto indices = cast<RankedTensorType>(SequenceValues::types(getContext()).front());
    auto ids = RankedTensorType::get({ShapedType::kDynamic}, rewriter.getI64Type());
    Value count = kernel::CountTokensOp::create(rewriter, loc, rewriter.getIndexType(), mask);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value batch = tensor::DimOp::create(rewriter, loc, mask, 0);
    Value offsets = arith::AddIOp::create(rewriter, loc, batch, one);
    SmallVector<Type> types = {indices, indices};
    types.append(op.getInputs().size(), ids);
    SmallVector<Value> outs;
    for (auto [i, type] : llvm::enumerate(types))
      outs.push_back(tensor::EmptyOp::create(rewriter, loc, cast<RankedTensorType>(type),
                                             ValueRange{i == 0 ? offsets : count}));
    auto packed =
        kernel::PackTokensOp::create(rewriter, loc, types, mask, adaptor.getInputs(), outs);
    SmallVector<SmallVector<Value>> values;
    for (auto [i, result] : llvm::enumerate(op.getPacked())) {
      Value value = packed.getResult(2 + i);
      values.push_back({rewriter.createOrFold<tensor::CastOp>(loc, result.getType(), value)});
    }
    Value length = tensor::DimOp::create(rewriter, loc, mask, 1);
    values.push_back({packed.getResult(0), packed.getResult(1), length});
    rewriter.replaceOpWithMultiple(op, std::move(values));
    return success();
  }
};

/// Spans are sequences of the same tokens.
struct ConvertLabelledTokens : OpConversionPattern<LabelledTokensOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LabelledTokensOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SequenceValues of(adaptor.getSequences());
    Value labels = adaptor.getLabels().front(), mask = adaptor.getMask().front();
    auto indices = cast<RankedTensorType>(SequenceValues::types(getContext()).front());
    auto ids = RankedTensorType::get({ShapedType::kDynamic}, rewriter.getI64Type());
    Value count = kernel::CountLabelledTokensOp::create(
        rewriter, loc, rewriter.getIndexType(), labels, mask, op.getIgnoreIndexAttr(),
        op.getPaddingIndexAttr(), op.getShiftedAttr());
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value offsets = arith::AddIOp::create(rewriter, loc, count, one);
    SmallVector<Value> outs = {tensor::EmptyOp::create(rewriter, loc, indices, ValueRange{offsets}),
                               tensor::EmptyOp::create(rewriter, loc, ids, ValueRange{count})};
    auto made = kernel::LabelledTokensOp::create(rewriter, loc, TypeRange{indices, ids}, labels,
                                                 mask, outs, op.getIgnoreIndexAttr(),
                                                 op.getPaddingIndexAttr(), op.getShiftedAttr());
    Type type = op.getCounted().getType();
    Value counted = rewriter.createOrFold<tensor::CastOp>(loc, type, made.getResult(1));
    SmallVector<SmallVector<Value>> values = {{counted}, {made.getResult(0), of.rows, of.length}};
    rewriter.replaceOpWithMultiple(op, std::move(values));
    return success();
  }
};

struct ConvertUniformSequences : OpConversionPattern<UniformSequencesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(UniformSequencesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto indices = cast<RankedTensorType>(SequenceValues::types(getContext()).front());
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value length = arith::ConstantIndexOp::create(rewriter, loc, op.getLength());
    Value batch = tensor::DimOp::create(rewriter, loc, adaptor.getX(), 0);
    Value tokens = arith::MulIOp::create(rewriter, loc, batch, length);
    Value offsets = arith::AddIOp::create(rewriter, loc, batch, one);
    SmallVector<Value> outs;
    for (Value count : {offsets, tokens})
      outs.push_back(tensor::EmptyOp::create(rewriter, loc, indices, ValueRange{count}));
    auto made = kernel::UniformSequencesOp::create(rewriter, loc, TypeRange{indices, indices}, outs,
                                                   op.getLengthAttr());
    SmallVector<SmallVector<Value>> values = {{made.getResult(0), made.getResult(1), length}};
    rewriter.replaceOpWithMultiple(op, std::move(values));
    return success();
  }
};

struct ConvertTokenColumns : OpConversionPattern<TokenColumnsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(TokenColumnsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), of.rows);
    rewriter.replaceOpWithNewOp<kernel::TokenColumnsOp>(op, TypeRange{out.getType()}, of.rows,
                                                        of.length, ValueRange{out});
    return success();
  }
};

struct ConvertUnpackTokens : OpConversionPattern<UnpackTokensOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(UnpackTokensOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SequenceValues of(adaptor.getSequences());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<Value> sizes;
    if (type.isDynamicDim(0))
      sizes.push_back(batchOf(rewriter, loc, of.cu));
    if (type.isDynamicDim(1))
      sizes.push_back(of.length);
    Value out = tensor::EmptyOp::create(rewriter, loc, type, sizes);
    rewriter.replaceOpWithNewOp<kernel::UnpackTokensOp>(
        op, TypeRange{type}, adaptor.getX().front(), of.rows, ValueRange{out}, op.getColumnAttr());
    return success();
  }
};

/// first_token, last_token and clear_empty.
template <typename OpTy> struct ConvertOneToken : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::template GenericAdaptor<ArrayRef<ValueRange>> adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SequenceValues of(adaptor.getSequences());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto rows =
        RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(1)}, type.getElementType());
    Value out =
        tensor::EmptyOp::create(rewriter, loc, rows, ValueRange{batchOf(rewriter, loc, of.cu)});
    Value y = kernel::FirstTokenOp::create(
                  rewriter, loc, TypeRange{rows}, adaptor.getX().front(), of.cu, ValueRange{out},
                  std::is_same_v<OpTy, LastTokenOp>, std::is_same_v<OpTy, ClearEmptyOp>)
                  .getResult(0);
    rewriter.replaceOp(op, rewriter.createOrFold<tensor::CastOp>(loc, type, y));
    return success();
  }
};

} // namespace

void mlir::transformer::populateSequencePatterns(const TypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<ConvertPackTokens, ConvertLabelledTokens, ConvertUniformSequences,
               ConvertTokenColumns, ConvertUnpackTokens, ConvertOneToken<FirstTokenOp>,
               ConvertOneToken<LastTokenOp>, ConvertOneToken<ClearEmptyOp>>(converter,
                                                                            patterns.getContext());
}
