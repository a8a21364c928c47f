//===- WindowPatterns.cpp - patches of images, windows of sequences -------===//
#include "codegen/linalg/Patterns.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct ConvertPatches : OpConversionPattern<PatchesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PatchesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SequenceValues of(adaptor.getSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), of.rows);
    rewriter.replaceOpWithNewOp<kernel::PatchesOp>(op, TypeRange{out.getType()},
                                                   adaptor.getX().front(), of.rows, ValueRange{out},
                                                   op.getSizesAttr(), op.getFirstAttr());
    return success();
  }
};

struct ConvertWindows : OpConversionPattern<WindowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WindowsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SequenceValues from(adaptor.getSequences()), to(adaptor.getResultSequences());
    Value out = emptyRows(rewriter, op.getLoc(), op.getResult(), to.rows);
    rewriter.replaceOpWithNewOp<kernel::WindowsOp>(
        op, TypeRange{out.getType()}, adaptor.getX().front(), from.cu, to.cu, ValueRange{out},
        op.getStrideAttr(), op.getPaddingAttr());
    return success();
  }
};

} // namespace

void mlir::transformer::populateWindowPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns) {
  patterns.add<ConvertPatches, ConvertWindows>(converter, patterns.getContext());
}
