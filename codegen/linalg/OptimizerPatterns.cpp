//===- OptimizerPatterns.cpp - norms of gradients and updates -------------===//
#include "codegen/linalg/Patterns.h"
#include "dialect/OptimizerOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Arithmetic on scalars.
struct Scalars : ImplicitLocOpBuilder {
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  Value constant(double value, Type type) {
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  }
  Value extract(Value tensor) { return tensor::ExtractOp::create(*this, tensor, ValueRange{}); }
  Value widen(Value x) { return arith::ExtFOp::create(*this, getF64Type(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(*this, getF32Type(), x); }
  Value oneMinus(Value x) { return arith::SubFOp::create(*this, constant(1, x.getType()), x); }
};

struct ConvertSumSquares : OpConversionPattern<SumSquaresOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SumSquaresOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value x = adaptor.getX(); // of a convolution as a matrix
    if (int64_t rank = cast<RankedTensorType>(x.getType()).getRank(); rank > 2) {
      SmallVector<ReassociationIndices> groups = {{0},
                                                  llvm::to_vector<2>(llvm::seq<int64_t>(1, rank))};
      x = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), x, groups);
    }
    auto type = cast<RankedTensorType>(x.getType());
    Value sum = emptyRows(rewriter, op.getLoc(), op.getResult(), {});
    Value sums = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                         {type.getRank() > 1 ? type.getDimSize(0) : 1},
                                         rewriter.getF32Type());
    auto converted = kernel::SumSquaresOp::create(
        rewriter, op.getLoc(), TypeRange{sum.getType(), sums.getType()}, x, ValueRange{sum, sums});
    rewriter.replaceOp(op, converted.getResult(0));
    return success();
  }
};

struct ConvertClipGradNorm : OpConversionPattern<ClipGradNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ClipGradNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> inputs(adaptor.getOperands()), outs;
    for (Value result : op->getResults())
      outs.push_back(emptyRows(rewriter, op.getLoc(), result, {}));
    SmallVector<AffineMap> maps(4, AffineMap::get(rewriter.getContext()));
    auto body = [](OpBuilder &builder, Location loc, ValueRange v) {
      Scalars b(loc, builder);
      Value norm = b.widen(math::SqrtOp::create(b, v[0])), most = v[1];
      Value zero = b.constant(0, most.getType()), one = b.constant(1, most.getType());
      Value near = arith::AddFOp::create(b, norm, b.constant(1e-6, most.getType()));
      Value scale = arith::MinimumFOp::create(b, one, arith::DivFOp::create(b, most, near));
      Value clips = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, most, zero);
      scale = arith::SelectOp::create(b, clips, scale, one);
      linalg::YieldOp::create(b, ValueRange{b.narrow(norm), b.narrow(scale)});
    };
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(op, op->getResultTypes(), inputs, outs, maps,
                                                   ArrayRef<utils::IteratorType>(), body);
    return success();
  }
};

using BodyBuilder = void (*)(OpBuilder &, Location, ValueRange);

/// Rows of a tensor; their sizes are those of `value` but for the first one.
struct RowsOf {
  RowsOf(ImplicitLocOpBuilder &b, Value value, ValueRange rows) : offsets(1, rows[0]) {
    sizes = tensor::getMixedSizes(b, b.getLoc(), value);
    offsets.resize(sizes.size(), b.getIndexAttr(0));
    strides.resize(sizes.size(), b.getIndexAttr(1));
    sizes[0] = arith::SubIOp::create(b, rows[1], rows[0]).getResult();
  }
  Value of(ImplicitLocOpBuilder &b, Value value) {
    return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
  }

  SmallVector<OpFoldResult> offsets, sizes, strides;
};

/// One op over all elements of a gradient, or some of its rows, whose body has numbers behind the
/// gradient's element.
void replaceByUpdate(Operation *op, Value gradient, ValueRange numbers, ValueRange states,
                     ValueRange rows, BodyBuilder body, ConversionPatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  SmallVector<Value> outs(states);
  std::optional<RowsOf> part;
  if (!rows.empty()) {
    part.emplace(b, gradient, rows);
    gradient = part->of(b, gradient);
    for (Value &out : outs)
      out = part->of(b, out);
  }
  SmallVector<Value> inputs = {gradient};
  llvm::append_range(inputs, numbers);
  int64_t rank = cast<RankedTensorType>(gradient.getType()).getRank();
  AffineMap all = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps(inputs.size() + outs.size(),
                              AffineMap::get(rank, 0, rewriter.getContext()));
  maps.front() = all;
  std::fill(maps.end() - outs.size(), maps.end(), all);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto update =
      linalg::GenericOp::create(b, ValueRange(outs).getTypes(), inputs, outs, maps, loops, body);
  SmallVector<Value> results(update.getResults());
  if (part)
    for (auto [result, state] : llvm::zip_equal(results, states))
      result = tensor::InsertSliceOp::create(b, result, state, part->offsets, part->sizes,
                                             part->strides);
  rewriter.replaceOp(op, results);
}

/// Yields what a step makes of numbers, or these where it is skipped: its scale is NaN.
void yieldUpdate(ImplicitLocOpBuilder &b, bool isSkippable, Value scale, ValueRange before,
                 ArrayRef<Value> after) {
  SmallVector<Value> numbers(after);
  if (isSkippable) {
    Value skipped = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, scale, scale);
    for (auto [number, old] : llvm::zip_equal(numbers, before))
      number = arith::SelectOp::create(b, skipped, old, number);
  }
  linalg::YieldOp::create(b, numbers);
}

/// Coefficients once, then one op over all elements.
struct ConvertAdamWUpdate : OpConversionPattern<AdamWUpdateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AdamWUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalars b(op.getLoc(), rewriter);
    Value beta1 = b.extract(adaptor.getBeta1()), beta2 = b.extract(adaptor.getBeta2());
    Value rate = b.extract(adaptor.getLearningRate()), step = b.extract(adaptor.getStep());
    Value times = arith::SIToFPOp::create(b, b.getF64Type(), step);
    Value correction1 = b.oneMinus(math::PowFOp::create(b, beta1, times));
    Value correction2 = b.oneMinus(math::PowFOp::create(b, beta2, times));
    Value decay = arith::MulFOp::create(b, rate, b.extract(adaptor.getWeightDecay()));
    Value size = arith::DivFOp::create(b, rate, correction1);
    Value one = b.constant(1, b.getF64Type());
    Value inverse = arith::DivFOp::create(b, one, math::SqrtOp::create(b, correction2));
    SmallVector<Value> numbers = {b.extract(adaptor.getScale())};
    for (Value coefficient : {beta1, b.oneMinus(beta1), beta2, b.oneMinus(beta2), b.oneMinus(decay),
                              size, inverse, b.extract(adaptor.getEpsilon())})
      numbers.push_back(b.narrow(coefficient));
    replaceByUpdate(op, adaptor.getGradient(), numbers,
                    {adaptor.getParameter(), adaptor.getMean(), adaptor.getVariance()},
                    adaptor.getRows(), op.getSkippable() ? buildUpdate<true> : buildUpdate<false>, rewriter);
    return success();
  }

private:
  template <bool isSkippable>
  static void buildUpdate(OpBuilder &builder, Location loc, ValueRange v) {
    ImplicitLocOpBuilder b(loc, builder);
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    Value g = mul(v[0], v[1]), parameter = v[10], mean = v[11], variance = v[12];
    mean = add(mul(v[2], mean), mul(v[3], g));
    variance = add(mul(v[4], variance), mul(v[5], mul(g, g)));
    Value root = mul(math::SqrtOp::create(b, variance), v[8]);
    Value change = arith::DivFOp::create(b, mul(v[7], mean), add(root, v[9]));
    parameter = arith::SubFOp::create(b, mul(v[6], parameter), change);
    yieldUpdate(b, isSkippable, v[1], v.take_back(3), {parameter, mean, variance});
  }
};

struct ConvertSgdUpdate : OpConversionPattern<SgdUpdateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SgdUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalars b(op.getLoc(), rewriter);
    SmallVector<Value> numbers = {b.extract(adaptor.getScale())};
    for (Value number :
         {adaptor.getWeightDecay(), adaptor.getMomentum(), adaptor.getLearningRate()})
      numbers.push_back(b.narrow(b.extract(number)));
    replaceByUpdate(op, adaptor.getGradient(), numbers,
                    {adaptor.getParameter(), adaptor.getMomentumBuffer()}, adaptor.getRows(),
                    op.getSkippable() ? buildUpdate<true> : buildUpdate<false>, rewriter);
    return success();
  }

private:
  template <bool isSkippable>
  static void buildUpdate(OpBuilder &builder, Location loc, ValueRange v) {
    ImplicitLocOpBuilder b(loc, builder);
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    Value parameter = v[5], buffer = v[6];
    Value g = add(mul(v[0], v[1]), mul(v[2], parameter));
    buffer = add(mul(v[3], buffer), g);
    parameter = arith::SubFOp::create(b, parameter, mul(v[4], buffer));
    yieldUpdate(b, isSkippable, v[1], v.take_back(2), {parameter, buffer});
  }
};

/// Coefficients once, then a kernel.
struct ConvertAdafactorUpdate : OpConversionPattern<AdafactorUpdateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AdafactorUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalars b(op.getLoc(), rewriter);
    Value step = arith::SIToFPOp::create(b, b.getF64Type(), b.extract(adaptor.getStep()));
    Value share = math::PowFOp::create(b, step, b.extract(adaptor.getBeta2Decay()));
    Value most = b.extract(adaptor.getLearningRate());
    Value decay = arith::MulFOp::create(b, most, b.extract(adaptor.getWeightDecay()));
    Value one = b.constant(1, b.getF64Type());
    Value falling = arith::DivFOp::create(b, one, math::SqrtOp::create(b, step));
    Value rate = arith::MinimumFOp::create(b, most, falling);
    SmallVector<Value> states = {adaptor.getParameter()};
    llvm::append_range(states, adaptor.getMoments());
    SmallVector<Value> outs =
        llvm::map_to_vector(states, [&](Value state) { return asRows(b, state); });
    Value gradient = asRows(b, adaptor.getGradient());
    auto addScratch = [&](int64_t size) {
      outs.push_back(tensor::EmptyOp::create(b, {size}, b.getF32Type()));
    };
    bool isFactored = cast<RankedTensorType>(gradient.getType()).getRank() == 2;
    if (isFactored)
      addScratch(cast<RankedTensorType>(outs[2].getType()).getDimSize(0));
    addScratch(isFactored ? cast<RankedTensorType>(gradient.getType()).getDimSize(0) : 1);
    auto converted = kernel::AdafactorUpdateOp::create(
        b, ValueRange(outs).getTypes(), gradient, b.extract(adaptor.getScale()),
        b.narrow(b.oneMinus(share)), b.narrow(share), b.narrow(b.oneMinus(decay)), rate,
        b.extract(adaptor.getEps1()), b.extract(adaptor.getEps2()),
        b.extract(adaptor.getClipThreshold()), outs);
    SmallVector<Value> results;
    for (auto [state, result] : llvm::zip(states, converted.getResults()))
      results.push_back(fromRows(b, result, state.getType()));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// All dimensions but the last are rows, those of one matrix below those of another.
  static SmallVector<ReassociationIndices> rowsOf(Type type) {
    int64_t last = cast<RankedTensorType>(type).getRank() - 1;
    return {llvm::to_vector<2>(llvm::seq<int64_t>(last)), {last}};
  }
  static Value asRows(ImplicitLocOpBuilder &b, Value x) {
    if (cast<RankedTensorType>(x.getType()).getRank() <= 2)
      return x;
    return tensor::CollapseShapeOp::create(b, x, rowsOf(x.getType()));
  }
  static Value fromRows(ImplicitLocOpBuilder &b, Value x, Type type) {
    if (x.getType() == type)
      return x;
    return tensor::ExpandShapeOp::create(b, type, x, rowsOf(type));
  }
};

} // namespace

void mlir::transformer::populateOptimizerPatterns(const TypeConverter &converter,
                                                  RewritePatternSet &patterns) {
  patterns.add<ConvertSumSquares, ConvertClipGradNorm, ConvertAdamWUpdate, ConvertSgdUpdate,
               ConvertAdafactorUpdate>(converter, patterns.getContext());
}
