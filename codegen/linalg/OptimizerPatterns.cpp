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

/// Rows of a tensor; their sizes are those of `value` but for the first one.
struct RowsOf {
  RowsOf(ImplicitLocOpBuilder &b, Value value, Value first, Value count) : offsets(1, first) {
    sizes = tensor::getMixedSizes(b, b.getLoc(), value);
    offsets.resize(sizes.size(), b.getIndexAttr(0));
    strides.resize(sizes.size(), b.getIndexAttr(1));
    sizes[0] = count;
  }
  Value of(ImplicitLocOpBuilder &b, Value value) {
    return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
  }

  SmallVector<OpFoldResult> offsets, sizes, strides;
};

/// What a step makes of states, from a gradient's element and numbers.
using BodyBuilder = SmallVector<Value> (*)(ImplicitLocOpBuilder &, Value gradient,
                                           ValueRange numbers, ValueRange states);

/// One op over all elements of a gradient, or some of its rows. A step that is skipped, as its
/// scale is NaN, updates no rows, or gives back what the states were.
void replaceByUpdate(Operation *op, Value gradient, Value scale, ValueRange numbers,
                     ValueRange states, ValueRange rows, bool isSkippable, BodyBuilder build,
                     ConversionPatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  SmallVector<Value> outs(states);
  std::optional<RowsOf> part;
  Value isSkipped =
      isSkippable ? arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, scale, scale) : Value();
  if (!rows.empty()) {
    Value count = arith::SubIOp::create(b, rows[1], rows[0]);
    if (isSkipped)
      count = arith::SelectOp::create(b, isSkipped, arith::ConstantIndexOp::create(b, 0), count);
    isSkipped = {}; // there are no elements then
    part.emplace(b, gradient, rows[0], count);
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
  auto update = linalg::GenericOp::create(
      b, ValueRange(outs).getTypes(), inputs, outs, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange v) {
        ImplicitLocOpBuilder body(loc, builder);
        ValueRange before = v.take_back(outs.size());
        SmallVector<Value> after = build(body, v[0], v.drop_front().drop_back(outs.size()), before);
        if (isSkipped)
          for (auto [number, old] : llvm::zip_equal(after, before))
            number = arith::SelectOp::create(body, isSkipped, old, number);
        linalg::YieldOp::create(body, after);
      });
  SmallVector<Value> results(update.getResults());
  if (part)
    for (auto [result, state] : llvm::zip_equal(results, states))
      result = tensor::InsertSliceOp::create(b, result, state, part->offsets, part->sizes,
                                             part->strides);
  rewriter.replaceOp(op, results);
}

/// Coefficients once, then one op over all elements, of as few products as there can be: beside a
/// linear layer's these are what it costs.
struct ConvertAdamWUpdate : OpConversionPattern<AdamWUpdateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AdamWUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalars b(op.getLoc(), rewriter);
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto root = [&](Value x) -> Value { return math::SqrtOp::create(b, x); };
    auto negative = [&](Value x) -> Value { return arith::NegFOp::create(b, x); };
    Value beta1 = b.extract(adaptor.getBeta1()), beta2 = b.extract(adaptor.getBeta2());
    Value rate = b.extract(adaptor.getLearningRate()), step = b.extract(adaptor.getStep());
    Value scale = b.extract(adaptor.getScale()), wide = b.widen(scale);
    Value times = arith::SIToFPOp::create(b, b.getF64Type(), step);
    Value correction1 = b.oneMinus(math::PowFOp::create(b, beta1, times));
    Value correction2 = root(b.oneMinus(math::PowFOp::create(b, beta2, times)));
    Value size = mul(arith::DivFOp::create(b, rate, correction1), correction2);
    SmallVector<Value> numbers;
    for (Value coefficient :
         {beta1, mul(wide, b.oneMinus(beta1)), beta2, mul(wide, root(b.oneMinus(beta2))),
          negative(mul(rate, b.extract(adaptor.getWeightDecay()))), negative(size),
          mul(b.extract(adaptor.getEpsilon()), correction2)})
      numbers.push_back(b.narrow(coefficient));
    replaceByUpdate(op, adaptor.getGradient(), scale, numbers,
                    {adaptor.getParameter(), adaptor.getMean(), adaptor.getVariance()},
                    adaptor.getRows(), op.getSkippable(), buildUpdate, rewriter);
    return success();
  }

private:
  static SmallVector<Value> buildUpdate(ImplicitLocOpBuilder &b, Value gradient, ValueRange v,
                                        ValueRange states) {
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto fma = [&](Value x, Value y, Value z) -> Value { return math::FmaOp::create(b, x, y, z); };
    Value parameter = states[0], g = mul(v[3], gradient);
    Value mean = fma(v[0], states[1], mul(v[1], gradient));
    Value variance = fma(g, g, mul(v[2], states[2]));
    Value root = math::SqrtOp::create(b, variance);
    Value change = arith::DivFOp::create(b, mean, arith::AddFOp::create(b, root, v[6]));
    parameter = fma(v[5], change, fma(v[4], parameter, parameter));
    return {parameter, mean, variance};
  }
};

struct ConvertSgdUpdate : OpConversionPattern<SgdUpdateOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SgdUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Scalars b(op.getLoc(), rewriter);
    Value scale = b.extract(adaptor.getScale());
    SmallVector<Value> numbers = {scale};
    for (Value number :
         {adaptor.getWeightDecay(), adaptor.getMomentum(), adaptor.getLearningRate()})
      numbers.push_back(b.narrow(b.extract(number)));
    replaceByUpdate(op, adaptor.getGradient(), scale, numbers,
                    {adaptor.getParameter(), adaptor.getMomentumBuffer()}, adaptor.getRows(),
                    op.getSkippable(), buildUpdate, rewriter);
    return success();
  }

private:
  static SmallVector<Value> buildUpdate(ImplicitLocOpBuilder &b, Value gradient, ValueRange v,
                                        ValueRange states) {
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    Value parameter = states[0], buffer = states[1];
    Value g = add(mul(v[0], gradient), mul(v[1], parameter));
    buffer = add(mul(v[2], buffer), g);
    parameter = arith::SubFOp::create(b, parameter, mul(v[3], buffer));
    return {parameter, buffer};
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
