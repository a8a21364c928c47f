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

} // namespace

void mlir::transformer::populateAttentionPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertAttention>(converter, patterns.getContext());
}
