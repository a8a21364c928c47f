//===- EmbeddingPatterns.cpp - rows of tables -----------------------------===//
#include "codegen/linalg/Patterns.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct ConvertEmbedding : OpConversionPattern<EmbeddingOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(EmbeddingOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getIds());
    auto scales = rewriter.getDenseF64ArrayAttr({op.getScale().convertToDouble()});
    rewriter.replaceOpWithNewOp<kernel::EmbeddingOp>(
        op, TypeRange{out.getType()}, ValueRange{adaptor.getIds()}, ValueRange{adaptor.getTable()},
        ValueRange{}, ValueRange{out}, scales, rewriter.getF64FloatAttr(0), UnitAttr(), UnitAttr());
    return success();
  }
};

struct ConvertEmbeddingNorm : OpConversionPattern<EmbeddingLayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(EmbeddingLayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getIds().front());
    SmallVector<double> scales(op.getIds().size(), 1.0);
    rewriter.replaceOpWithNewOp<kernel::EmbeddingOp>(
        op, TypeRange{out.getType()}, adaptor.getIds(), adaptor.getTables(),
        ValueRange{adaptor.getGamma(), adaptor.getBeta()}, ValueRange{out},
        rewriter.getDenseF64ArrayAttr(scales), op.getEpsAttr(), op.getUnbiasedAttr(),
        op.getEpsOutsideAttr());
    return success();
  }
};

} // namespace

void mlir::transformer::populateEmbeddingPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertEmbedding, ConvertEmbeddingNorm>(converter, patterns.getContext());
}
