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
    SequenceValues queries(adaptor.getSequences());
    SequenceValues keys(op.getMemory() ? adaptor.getMemory() : adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), q);
    rewriter.replaceOpWithNewOp<kernel::AttentionOp>(
        op, TypeRange{out.getType()}, q, adaptor.getK().front(), adaptor.getV().front(), queries.cu,
        keys.cu, adaptor.getScaleFactor(), ValueRange{out}, op.getNumHeadsAttr(),
        rewriter.getI64IntegerAttr(op.kvHeads()), op.getScaleAttr(), op.getCausalAttr());
    return success();
  }
};

} // namespace

void mlir::transformer::populateAttentionPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertAttention>(converter, patterns.getContext());
}
