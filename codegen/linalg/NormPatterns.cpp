//===- NormPatterns.cpp - normalisation of rows ---------------------------===//
#include "codegen/linalg/Patterns.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// layer_norm and residual_layer_norm; `residual` has one value or none.
template <typename OpTy>
void convertNorm(OpTy op, Value x, ValueRange residual, Value gamma, Value beta,
                 ConversionPatternRewriter &rewriter) {
  SmallVector<Value> outs;
  for (Value result : op->getResults())
    outs.push_back(emptyRows(rewriter, op.getLoc(), result, x));
  rewriter.replaceOpWithNewOp<kernel::LayerNormOp>(op, op->getResultTypes(), x, residual, gamma,
                                                   beta, outs, op.getEpsAttr(),
                                                   op.getUnbiasedAttr(), op.getEpsOutsideAttr());
}

struct ConvertLayerNorm : OpConversionPattern<LayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), {}, adaptor.getGamma(), adaptor.getBeta(), rewriter);
    return success();
  }
};

struct ConvertResidualLayerNorm : OpConversionPattern<ResidualLayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ResidualLayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    convertNorm(op, adaptor.getX(), adaptor.getResidual(), adaptor.getGamma(), adaptor.getBeta(),
                rewriter);
    return success();
  }
};

} // namespace

void mlir::transformer::populateNormPatterns(const TypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<ConvertLayerNorm, ConvertResidualLayerNorm>(converter, patterns.getContext());
}
