//===- LinearPatterns.cpp - matrix products and columns of rows -----------===//
#include "codegen/analysis/Flops.h"
#include "codegen/linalg/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// `rows` plus `bias` in every row.
Value addBias(OpBuilder &b, Location loc, Value rows, Value bias) {
  Value out = emptyRows(b, loc, rows, rows);
  AffineMap all = b.getMultiDimIdentityMap(2), columns = all.dropResult(0);
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, rows.getType(), ValueRange{rows, bias}, out,
                                   ArrayRef<AffineMap>{all, columns, all}, loops,
                                   [](OpBuilder &body, Location at, ValueRange v) {
                                     Value sum = arith::AddFOp::create(body, at, v[0], v[1]);
                                     linalg::YieldOp::create(body, at, sum);
                                   })
      .getResult(0);
}

/// A matrix product that starts from zeros, and the addition of the bias.
struct ConvertLinear : OpConversionPattern<LinearOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LinearOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getX(), empty = emptyRows(rewriter, loc, op.getResult(), x);
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
    Value zeros = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    SmallVector<Value> inputs = {x, adaptor.getWeight()};
    linalg::MatmulOp product;
    if (op.getLayout() == WeightLayout::OutIn)
      product = linalg::MatmulTransposeBOp::create(rewriter, loc, inputs, zeros);
    else
      product = linalg::MatmulOp::create(rewriter, loc, inputs, zeros);
    if (op->hasAttr(kPerSequenceAttr))
      product->setAttr(kPerSequenceAttr, rewriter.getUnitAttr());
    Value y = product.getResult(0);
    rewriter.replaceOp(op, op.getBias() ? addBias(rewriter, loc, y, adaptor.getBias()) : y);
    return success();
  }
};

struct ConvertSplit : OpConversionPattern<SplitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SplitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value x = adaptor.getX();
    OpFoldResult rows = tensor::getMixedSize(rewriter, op.getLoc(), x, 0);
    OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
    SmallVector<Value> slices;
    int64_t column = 0;
    for (Value result : op.getResults()) {
      int64_t width = widthOf(result);
      Value slice = tensor::ExtractSliceOp::create(
          rewriter, op.getLoc(), x, ArrayRef<OpFoldResult>{zero, rewriter.getIndexAttr(column)},
          ArrayRef<OpFoldResult>{rows, rewriter.getIndexAttr(width)},
          ArrayRef<OpFoldResult>{one, one});
      slices.push_back(rewriter.createOrFold<tensor::CastOp>(op.getLoc(), result.getType(), slice));
      column += width;
    }
    rewriter.replaceOp(op, slices);
    return success();
  }
};

} // namespace

void mlir::transformer::populateLinearPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns) {
  patterns.add<ConvertLinear, ConvertSplit>(converter, patterns.getContext());
}
