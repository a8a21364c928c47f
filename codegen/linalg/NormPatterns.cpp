//===- NormPatterns.cpp - normalisation of rows ---------------------------===//
#include "codegen/linalg/Patterns.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// One pattern for all: `residual` has one value or none, `beta` is null with `rms`.
template <typename OpTy>
void convertNorm(OpTy op, Value x, ValueRange residual, Value gamma, Value beta, bool rms,
                 ConversionPatternRewriter &rewriter) {
  SmallVector<Value> outs;
  for (Value result : op->getResults())
    outs.push_back(emptyRows(rewriter, op.getLoc(), result, x));
  rewriter.replaceOpWithNewOp<kernel::LayerNormOp>(op, op->getResultTypes(), x, residual, gamma,
                                                   beta, outs, op.getNorm(),
                                                   rms ? rewriter.getUnitAttr() : UnitAttr());
}

struct ConvertLayerNorm : OpConversionPattern<LayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), {}, adaptor.getGamma(), adaptor.getBeta(), false, rewriter);
    return success();
  }
};

struct ConvertResidualLayerNorm : OpConversionPattern<ResidualLayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ResidualLayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), adaptor.getResidual(), adaptor.getGamma(), adaptor.getBeta(),
                false, rewriter);
    return success();
  }
};

struct ConvertRmsNorm : OpConversionPattern<RmsNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RmsNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), {}, adaptor.getGamma(), {}, true, rewriter);
    return success();
  }
};

struct ConvertResidualRmsNorm : OpConversionPattern<ResidualRmsNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ResidualRmsNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), adaptor.getResidual(), adaptor.getGamma(), {}, true, rewriter);
    return success();
  }
};

} // namespace

void mlir::transformer::populateNormPatterns(const TypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<ConvertLayerNorm, ConvertResidualLayerNorm, ConvertRmsNorm, ConvertResidualRmsNorm>(
      converter, patterns.getContext());
}
