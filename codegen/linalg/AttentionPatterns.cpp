//===- AttentionPatterns.cpp - attention on packed rows -------------------===//
#include "codegen/linalg/Patterns.h"

using namespace mlir;
using namespace mlir::transformer;

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
    ValueRange bias = adaptor.getPositionBias();
    rewriter.replaceOpWithNewOp<kernel::AttentionOp>(
        op, op->getResultTypes(), q, adaptor.getK().front(), adaptor.getV().front(), queries.cu,
        keys.cu, adaptor.getScaleFactor(), bias.empty() ? Value() : bias.front(), outs,
        op.getNumHeadsAttr(), rewriter.getI64IntegerAttr(op.kvHeads()), op.getScaleAttr(),
        op.getOptions());
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
  patterns.add<ConvertAttention, ConvertAppendPages, ConvertPagedAttention>(converter,
                                                                            patterns.getContext());
}
