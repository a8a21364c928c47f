//===- AttentionPatterns.cpp - attention on packed rows -------------------===//
#include "codegen/linalg/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::transformer;

Value mlir::transformer::columnsOfDistances(OpBuilder &b, Location loc,
                                            std::optional<ArrayRef<int32_t>> columns) {
  if (!columns)
    return Value();
  auto type = RankedTensorType::get({static_cast<int64_t>(columns->size())}, b.getI32Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, *columns));
}

namespace {

struct ConvertAttention : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AttentionOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value q = adaptor.getQ().front();
    SequenceValues queries(adaptor.getQuerySequences()), keys(adaptor.getKeySequences());
    SmallVector<Value> outs;
    for (Value result : op->getResults())
      outs.push_back(emptyRows(rewriter, op.getLoc(), result, q));
    auto optional = [](ValueRange values) { return values.empty() ? Value() : values.front(); };
    rewriter.replaceOpWithNewOp<kernel::AttentionOp>(
        op, op->getResultTypes(), q, adaptor.getK().front(), adaptor.getV().front(), queries.cu,
        keys.cu, adaptor.getScaleFactor(), optional(adaptor.getPositionBias()),
        optional(adaptor.getQueryScores()), optional(adaptor.getKeyScores()),
        columnsOfDistances(rewriter, op.getLoc(), op.getColumns()),
        optional(adaptor.getDropoutKey()), outs, op.getNumHeadsAttr(),
        rewriter.getI64IntegerAttr(op.kvHeads()), op.getScaleAttr(), op.getOptions());
    return success();
  }
};

struct ConvertRelativeScores : OpConversionPattern<RelativeScoresOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RelativeScoresOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getX());
    rewriter.replaceOpWithNewOp<kernel::RelativeScoresOp>(op, TypeRange{out.getType()},
                                                          adaptor.getX(), adaptor.getTable(),
                                                          ValueRange{out}, op.getNumHeadsAttr());
    return success();
  }
};

struct ConvertAppendPages : OpConversionPattern<AppendPagesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AppendPagesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SequenceValues sequences(adaptor.getSequences());
    rewriter.replaceOpWithNewOp<kernel::AppendPagesOp>(
        op, op->getResultTypes(), adaptor.getK().front(), adaptor.getV().front(), sequences.cu,
        adaptor.getTable().front(), adaptor.getLengths().front(), adaptor.getCache(),
        op.getNumHeadsAttr());
    return success();
  }
};

struct ConvertPagedAttention : OpConversionPattern<PagedAttentionOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PagedAttentionOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value q = adaptor.getQ().front();
    SequenceValues sequences(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), q);
    ValueRange bias = adaptor.getPositionBias();
    rewriter.replaceOpWithNewOp<kernel::PagedAttentionOp>(
        op, op->getResultTypes(), q, adaptor.getCache().front(), sequences.cu,
        adaptor.getTable().front(), adaptor.getLengths().front(),
        adaptor.getScaleFactor().empty() ? Value() : adaptor.getScaleFactor().front(),
        bias.empty() ? Value() : bias.front(), ValueRange{out}, op.getNumHeadsAttr(),
        op.getNumKvHeadsAttr(), op.getScaleAttr(), op.getOptions());
    return success();
  }
};

} // namespace

void mlir::transformer::populateAttentionPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertAttention, ConvertRelativeScores, ConvertAppendPages, ConvertPagedAttention>(
      converter, patterns.getContext());
}
