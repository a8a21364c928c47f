//===- Body.cpp - writing the body of a layer or an entry point -----------===//
#include "models/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

InitAttr transformer::makeInit(MLIRContext *context, InitKind kind) {
  return InitAttr::get(context, kind, FloatAttr());
}

InitAttr transformer::makeInit(MLIRContext *context, InitKind kind, double value) {
  return InitAttr::get(context, kind, FloatAttr::get(Float64Type::get(context), value));
}

InitAttr InitScheme::linearWeight(MLIRContext *context) const {
  if (xavier)
    return makeInit(context, InitKind::XavierUniform);
  if (deviation)
    return makeInit(context, InitKind::Normal, *deviation);
  return makeInit(context, InitKind::KaimingUniform, std::sqrt(5.0));
}

InitAttr InitScheme::linearBias(MLIRContext *context, int64_t fanIn) const {
  if (deviation)
    return makeInit(context, InitKind::Zeros);
  return makeInit(context, InitKind::Uniform, 1 / std::sqrt(double(fanIn)));
}

InitAttr InitScheme::embedding(MLIRContext *context) const {
  return makeInit(context, InitKind::Normal, deviation.value_or(1.0));
}

Body::Body(Block *block, InitScheme init, WeightSource weights)
    : builder(OpBuilder::atBlockEnd(block)), init(init), source(std::move(weights)) {}

/// "attention.self.query" gives a value called "query".
static StringRef lastPart(StringRef name) { return name.substr(name.rfind('.') + 1); }

Location Body::named(StringRef name) { return NameLoc::get(builder.getStringAttr(name)); }

RankedTensorType Body::rows(int64_t width) {
  return RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
}

Value Body::weight(StringRef name, ArrayRef<int64_t> shape, InitAttr init) {
  Value &value = known[name];
  if (!value)
    value = source(name, RankedTensorType::get(shape, builder.getF32Type()), init);
  return value;
}

std::pair<Value, Value> Body::linearWeights(StringRef name, int64_t in, int64_t out,
                                            WeightLayout layout, const InitScheme &init,
                                            bool hasBias) {
  MLIRContext *context = builder.getContext();
  auto shape = layout == WeightLayout::OutIn ? std::array{out, in} : std::array{in, out};
  Value matrix = weight((name + ".weight").str(), shape, init.linearWeight(context));
  Value bias;
  if (hasBias)
    bias = weight((name + ".bias").str(), {out}, init.linearBias(context, in));
  return {matrix, bias};
}

Value Body::linear(Value x, StringRef name, int64_t width, WeightLayout layout,
                   std::optional<InitScheme> otherInit) {
  auto [matrix, bias] = linearWeights(name, widthOf(x), width, layout, otherInit.value_or(init));
  return linear(x, matrix, bias, layout, lastPart(name));
}

Value Body::linear(Value x, StringRef name, int64_t width, bool hasBias) {
  auto [matrix, bias] = linearWeights(name, widthOf(x), width, WeightLayout::OutIn, init, hasBias);
  return linear(x, matrix, bias, WeightLayout::OutIn, lastPart(name));
}

Value Body::linear(Value x, Value weight, Value bias, WeightLayout layout, StringRef name) {
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t width = type.getDimSize(layout == WeightLayout::OutIn ? 0 : 1);
  return LinearOp::create(builder, named(name), rows(width), x, weight, bias, layout);
}

Value Body::embedding(Value ids, StringRef name, int64_t count, int64_t width, double scale) {
  Value table =
      weight((name + ".weight").str(), {count, width}, init.embedding(builder.getContext()));
  return EmbeddingOp::create(builder, named(lastPart(name)), rows(width), ids, table,
                             builder.getF64FloatAttr(scale));
}

Value Body::sinusoids(Value positions, int64_t width, int64_t maxPositions) {
  return SinusoidalPositionOp::create(builder, named("positions"), rows(width), positions,
                                      SinusoidLayout::Interleaved, uint64_t(maxPositions));
}

Value Body::layerNorm(Value x, StringRef name, const Norm &norm) {
  MLIRContext *context = builder.getContext();
  int64_t width = widthOf(x);
  Value gamma = weight((name + "." + norm.gamma).str(), {width}, makeInit(context, InitKind::Ones));
  Value beta = weight((name + "." + norm.beta).str(), {width}, makeInit(context, InitKind::Zeros));
  return LayerNormOp::create(builder, named(lastPart(name)), x.getType(), x, gamma, beta,
                             NormAttr::get(context, norm.eps, norm.unbiased, norm.epsOutside));
}

Value Body::rmsNorm(Value x, StringRef name, double eps) {
  MLIRContext *context = builder.getContext();
  Value gamma = weight((name + ".weight").str(), {widthOf(x)}, makeInit(context, InitKind::Ones));
  return RmsNormOp::create(builder, named(lastPart(name)), x.getType(), x, gamma,
                           NormAttr::get(context, eps));
}

Value Body::rotaryTable(Value positions, int64_t width, double theta) {
  return RotaryTableOp::create(builder, named("rotary_table"), rows(width), positions,
                               /*frequencies=*/Value(), APFloat(theta));
}

Value Body::rotate(Value x, Value table, int64_t heads, StringRef name) {
  return RotaryEmbeddingOp::create(builder, named(name), x.getType(), x, table, heads);
}

Value Body::add(Value x, Value residual, StringRef name) {
  return arith::AddFOp::create(builder, named(name), x, residual);
}

Value Body::activation(ActivationKind kind, Value x) {
  return ActivationOp::create(builder, named("activation"), x.getType(), kind, x);
}

SmallVector<Value> Body::split(Value x, unsigned parts, StringRef name) {
  SmallVector<Type> types(parts, rows(widthOf(x) / parts));
  return SplitOp::create(builder, named(name), types, x).getResults();
}

Value Body::slice(Value weight, int64_t first, int64_t count, StringRef name) {
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = count;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0)), sizes,
      strides(shape.size(), builder.getIndexAttr(1));
  offsets[0] = builder.getIndexAttr(first);
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  return tensor::ExtractSliceOp::create(builder, named(name), type.clone(shape), weight, offsets,
                                        sizes, strides);
}

AttentionOptionsAttr Body::optionsOf(const AttentionOptions &options) {
  return AttentionOptionsAttr::get(builder.getContext(), options.causal, options.window);
}

Value Body::attention(ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
                      double scale, Value scaleFactor) {
  Value keySequences = options.memorySequences ? options.memorySequences : sequences;
  bool grouped = options.kvHeads && options.kvHeads != options.heads;
  return AttentionOp::create(builder, named("attention"), qkv[0].getType(), /*log_sum_exp=*/Type(),
                             qkv[0], qkv[1], qkv[2], sequences, keySequences, scaleFactor,
                             /*position_bias=*/Value(), builder.getI64IntegerAttr(options.heads),
                             grouped ? builder.getI64IntegerAttr(options.kvHeads) : IntegerAttr(),
                             builder.getF64FloatAttr(scale), optionsOf(options))
      .getResult();
}

Value Body::multiHeadAttention(Value x, Value sequences, const std::array<std::string, 4> &names,
                               const AttentionOptions &options) {
  SmallVector<Value> weights, biases;
  int64_t width = widthOf(x);
  for (auto [i, name] : llvm::enumerate(names)) {
    bool ofMemory = options.memory && (i == 1 || i == 2);
    auto [matrix, bias] = linearWeights(name, ofMemory ? widthOf(options.memory) : width, width,
                                        WeightLayout::OutIn, init);
    weights.push_back(matrix);
    biases.push_back(bias);
  }
  return MultiHeadAttentionOp::create(
      builder, named("attention"), x.getType(), x, sequences, options.memory,
      options.memorySequences, weights, biases,
      /*scale_factor=*/Value(), /*position_bias=*/Value(), WeightLayout::OutIn, options.heads,
      /*num_kv_heads=*/IntegerAttr(), /*scale=*/FloatAttr(), optionsOf(options));
}

Value Body::feedForward(ActivationKind kind, Value x, StringRef up, StringRef down, int64_t width,
                        WeightLayout layout, std::optional<InitScheme> downInit) {
  auto [upWeight, upBias] = linearWeights(up, widthOf(x), width, layout, init);
  auto [downWeight, downBias] =
      linearWeights(down, width, widthOf(x), layout, downInit.value_or(init));
  return FeedForwardOp::create(builder, named("feed_forward"), x.getType(), kind, x,
                               ValueRange{upWeight, downWeight}, ValueRange{upBias, downBias},
                               layout);
}

Value Body::gatedFeedForward(ActivationKind kind, Value x, StringRef gate, StringRef up,
                             StringRef down, int64_t width, bool hasBias) {
  SmallVector<Value> weights, biases;
  for (StringRef name : {gate, up, down}) {
    bool isDown = name == down;
    auto [matrix, bias] =
        linearWeights(name, isDown ? width : widthOf(x), isDown ? widthOf(x) : width,
                      WeightLayout::OutIn, init, hasBias);
    weights.push_back(matrix);
    if (hasBias)
      biases.push_back(bias);
  }
  return FeedForwardOp::create(builder, named("feed_forward"), x.getType(), kind, x, weights,
                               biases, WeightLayout::OutIn);
}

Value Body::firstToken(Value x, Value sequences) {
  return FirstTokenOp::create(builder, named("first"), x.getType(), x, sequences);
}

Value Body::unpack(Value x, Value sequences, StringRef name, std::optional<int64_t> column) {
  SmallVector<int64_t> shape(2, ShapedType::kDynamic);
  if (!column)
    shape.push_back(widthOf(x));
  return UnpackTokensOp::create(builder, named(name),
                                RankedTensorType::get(shape, builder.getF32Type()), x, sequences,
                                column ? builder.getI64IntegerAttr(*column) : IntegerAttr());
}
