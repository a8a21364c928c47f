//===- EmbeddingPatterns.cpp - rows of tables, positions ------------------===//
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
        ValueRange{}, ValueRange{out}, NormAttr(), scales);
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
        ValueRange{adaptor.getGamma(), adaptor.getBeta()}, ValueRange{out}, op.getNorm(),
        rewriter.getDenseF64ArrayAttr(scales));
    return success();
  }
};

struct ConvertRotaryTable : OpConversionPattern<RotaryTableOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RotaryTableOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getPositions());
    SmallVector<double> values = op.allFrequencies();
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, rewriter.getF64Type());
    Value frequencies = arith::ConstantOp::create(
        rewriter, op.getLoc(), DenseElementsAttr::get(type, ArrayRef<double>(values)));
    rewriter.replaceOpWithNewOp<kernel::RotaryTableOp>(op, TypeRange{out.getType()},
                                                       adaptor.getPositions(), frequencies,
                                                       ValueRange{out}, op.getScaleAttr());
    return success();
  }
};

struct ConvertRotaryEmbedding : OpConversionPattern<RotaryEmbeddingOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RotaryEmbeddingOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), adaptor.getX());
    rewriter.replaceOpWithNewOp<kernel::RotaryEmbeddingOp>(op, TypeRange{out.getType()},
                                                           adaptor.getX(), adaptor.getTable(),
                                                           ValueRange{out}, op.getNumHeadsAttr(),
                                                           /*inverse=*/UnitAttr());
    return success();
  }
};

} // namespace

void mlir::transformer::populateEmbeddingPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertEmbedding, ConvertEmbeddingNorm, ConvertRotaryTable, ConvertRotaryEmbedding>(
      converter, patterns.getContext());
}
