//===- ExpandComposites.cpp - blocks to core ops --------------------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <array>
#include <cmath>

namespace mlir::transformer {
#define GEN_PASS_DEF_EXPANDCOMPOSITESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A weight and its bias (null if there is none).
struct Projection {
  Value weight, bias;
};

/// Query, key, value and output projections.
using Projections = std::array<Projection, 4>;

/// What an attention block is given beside its rows and weights.
struct AttentionInputs {
  int64_t numHeads;
  AttentionOptionsAttr options;
  Value memory = {}, memorySequences = {};
  IntegerAttr numKvHeads = {};
  std::optional<double> scale = std::nullopt;
  Value scaleFactor = {}, positionBias = {};
};

/// Builds the core ops of one composite op, whose verifier has checked the shapes.
struct Expander {
  ImplicitLocOpBuilder builder;

  explicit Expander(Operation *op) : builder(op->getLoc(), op) {}

  Value linear(Value x, Projection p, WeightLayout layout) {
    auto rows = cast<RankedTensorType>(x.getType());
    int64_t width = cast<RankedTensorType>(p.weight.getType())
                        .getDimSize(layout == WeightLayout::OutIn ? 0 : 1);
    auto type = RankedTensorType::get({rows.getDimSize(0), width}, rows.getElementType());
    return LinearOp::create(builder, type, x, p.weight, p.bias,
                            WeightLayoutAttr::get(builder.getContext(), layout));
  }

  Value attention(Value x, Value sequences, const Projections &p, WeightLayout layout,
                  const AttentionInputs &inputs) {
    Value source = inputs.memory ? inputs.memory : x;
    Value keys = inputs.memory ? inputs.memorySequences : sequences;
    Value q = linear(x, p[0], layout);
    Value k = linear(source, p[1], layout);
    Value v = linear(source, p[2], layout);
    double headDim = static_cast<double>(widthOf(q)) / static_cast<double>(inputs.numHeads);
    auto attention = AttentionOp::create(
        builder, q.getType(), /*log_sum_exp=*/Type(), q, k, v, sequences, keys, inputs.scaleFactor,
        inputs.positionBias, /*query_scores=*/Value(), /*key_scores=*/Value(),
        /*dropout_key=*/Value(), builder.getI64IntegerAttr(inputs.numHeads), inputs.numKvHeads,
        builder.getF64FloatAttr(inputs.scale.value_or(1.0 / std::sqrt(headDim))), inputs.options,
        /*columns=*/DenseI32ArrayAttr());
    return linear(attention.getResult(), p[3], layout);
  }

  Value feedForward(Value x, ActivationKind kind, ArrayRef<Projection> p, WeightLayout layout,
                    double dropout = 0) {
    Value hidden = linear(x, p[0], layout);
    Value value = ActivationOp::create(builder, hidden.getType(),
                                       ActivationKindAttr::get(builder.getContext(), kind), hidden);
    if (p.size() == 3) // gate, up, down
      value = arith::MulFOp::create(builder, value, linear(x, p[1], layout));
    if (dropout != 0)
      value = DropoutOp::create(builder, value.getType(), value, /*key=*/Value(),
                                builder.getF64FloatAttr(dropout));
    return linear(value, p.back(), layout);
  }

  Value norm(Value x, ValueRange norms, unsigned index, NormAttr options) {
    return LayerNormOp::create(builder, x.getType(), x, norms[2 * index], norms[2 * index + 1],
                               options);
  }

  /// norm(x + block(x)), or x + block(norm(x)) with `normFirst`.
  Value sublayer(Value x, ValueRange norms, unsigned index, NormAttr options, bool normFirst,
                 llvm::function_ref<Value(Value)> block) {
    if (normFirst)
      return arith::AddFOp::create(builder, x, block(norm(x, norms, index, options)));
    return norm(arith::AddFOp::create(builder, x, block(x)), norms, index, options);
  }
};

/// Weights and biases from (w, b, w, b, ...).
template <size_t N> std::array<Projection, N> pairs(ValueRange values) {
  std::array<Projection, N> result;
  for (size_t i = 0; i < N; ++i)
    result[i] = {values[2 * i], values[2 * i + 1]};
  return result;
}

/// Weights and biases from two lists, of which the second may be empty.
SmallVector<Projection> zipped(ValueRange weights, ValueRange biases) {
  SmallVector<Projection> result;
  for (auto [i, weight] : llvm::enumerate(weights))
    result.push_back({weight, biases.empty() ? Value() : biases[i]});
  return result;
}

Value expand(MultiHeadAttentionOp op) {
  SmallVector<Projection> list = zipped(op.getWeights(), op.getBiases());
  Projections projections;
  llvm::copy(list, projections.begin());
  std::optional<double> scale;
  if (op.getScale())
    scale = op.getScale()->convertToDouble();
  AttentionInputs inputs{static_cast<int64_t>(op.getNumHeads()),
                         op.getOptions(),
                         op.getMemory(),
                         op.getMemorySequences(),
                         op.getNumKvHeadsAttr(),
                         scale,
                         op.getScaleFactor(),
                         op.getPositionBias()};
  return Expander(op).attention(op.getX(), op.getSequences(), projections, op.getLayout(), inputs);
}

Value expand(FeedForwardOp op) {
  return Expander(op).feedForward(op.getX(), op.getActivation(),
                                  zipped(op.getWeights(), op.getBiases()), op.getLayout(),
                                  op.getDropout().convertToDouble());
}

Value expand(EncoderLayerOp op) {
  Expander expander(op);
  NormAttr norms = op.getNorm();
  bool normFirst = op.getNormFirst();
  AttentionInputs inputs{static_cast<int64_t>(op.getNumHeads()), op.getOptions()};
  Value h = expander.sublayer(op.getX(), op.getNorms(), 0, norms, normFirst, [&](Value x) {
    return expander.attention(x, op.getSequences(), pairs<4>(op.getAttention()),
                              WeightLayout::OutIn, inputs);
  });
  return expander.sublayer(h, op.getNorms(), 1, norms, normFirst, [&](Value x) {
    return expander.feedForward(x, op.getActivation(), pairs<2>(op.getFfn()), WeightLayout::OutIn);
  });
}

Value expand(DecoderLayerOp op) {
  Expander expander(op);
  NormAttr norms = op.getNorm();
  bool normFirst = op.getNormFirst();
  int64_t heads = op.getNumHeads();
  MLIRContext *context = op.getContext();
  AttentionInputs self{heads, AttentionOptionsAttr::get(context, /*causal=*/true)};
  AttentionInputs cross{heads, AttentionOptionsAttr::get(context), op.getMemory(),
                        op.getMemorySequences()};
  Value h = expander.sublayer(op.getX(), op.getNorms(), 0, norms, normFirst, [&](Value x) {
    return expander.attention(x, op.getSequences(), pairs<4>(op.getSelfAttention()),
                              WeightLayout::OutIn, self);
  });
  Value g = expander.sublayer(h, op.getNorms(), 1, norms, normFirst, [&](Value x) {
    return expander.attention(x, op.getSequences(), pairs<4>(op.getCrossAttention()),
                              WeightLayout::OutIn, cross);
  });
  return expander.sublayer(g, op.getNorms(), 2, norms, normFirst, [&](Value x) {
    return expander.feedForward(x, op.getActivation(), pairs<2>(op.getFfn()), WeightLayout::OutIn);
  });
}

Value expand(SinusoidalPositionOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(op.getMaxPositions()), widthOf(op.getResult())}, builder.getF32Type());
  Value table = SinusoidalTableOp::create(builder, type, op.getLayoutAttr());
  return EmbeddingOp::create(builder, op.getResult().getType(), op.getPositions(), table,
                             builder.getF64FloatAttr(1.0), IntegerAttr());
}

/// Puts the core ops of `op` in its place. A core op has as many rows as its
/// input; a composite that claims another (static for dynamic) gets a cast.
template <typename OpTy> LogicalResult expandAndReplace(OpTy op) {
  Value value = expand(op);
  Value result = op.getResult();
  if (result.getType() != value.getType()) {
    if (!tensor::CastOp::areCastCompatible(value.getType(), result.getType()))
      return op.emitOpError() << "expected a result of type " << value.getType() << ", found "
                              << result.getType();
    OpBuilder builder(op);
    value = tensor::CastOp::create(builder, op.getLoc(), result.getType(), value);
  }
  result.replaceAllUsesWith(value);
  op.erase();
  return success();
}

bool isComposite(Operation *op) {
  return isa<MultiHeadAttentionOp, FeedForwardOp, EncoderLayerOp, DecoderLayerOp,
             SinusoidalPositionOp>(op);
}

struct ExpandComposites : transformer::impl::ExpandCompositesPassBase<ExpandComposites> {
  void runOnOperation() override {
    SmallVector<Operation *> composites;
    getOperation()->walk([&](Operation *op) {
      if (isComposite(op))
        composites.push_back(op);
    });
    for (Operation *op : composites) {
      LogicalResult expanded = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                                   .Case<MultiHeadAttentionOp, FeedForwardOp, EncoderLayerOp,
                                         DecoderLayerOp, SinusoidalPositionOp>(
                                       [](auto composite) { return expandAndReplace(composite); });
      if (failed(expanded))
        return signalPassFailure();
    }
    WalkResult left = getOperation()->walk([](Operation *op) {
      if (!isComposite(op))
        return WalkResult::advance();
      op->emitError() << "composite op " << op->getName() << " was not expanded";
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
