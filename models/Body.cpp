//===- Body.cpp - writing the body of a layer or an entry point -----------===//
#include "models/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

InitAttr transformer::makeInit(MLIRContext *context, InitKind kind) {
  return InitAttr::get(context, kind, FloatAttr(), std::nullopt);
}

InitAttr transformer::makeInit(MLIRContext *context, InitKind kind, double value,
                               std::optional<int64_t> zeroRow) {
  return InitAttr::get(context, kind, FloatAttr::get(Float64Type::get(context), value), zeroRow);
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

InitAttr InitScheme::embedding(MLIRContext *context, std::optional<int64_t> padding) const {
  return makeInit(context, InitKind::Normal, deviation.value_or(1.0), padding);
}

Body::Body(Block *block, InitScheme init, const DropoutRates &dropout, WeightSource weights)
    : builder(OpBuilder::atBlockEnd(block)), init(init), dropout(dropout),
      source(std::move(weights)) {}

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

Value Body::convolution(Value x, Value sequences, Value resultSequences, StringRef name,
                        int64_t width, const Convolution &convolution) {
  MLIRContext *context = builder.getContext();
  int64_t in = widthOf(x), kernel = convolution.kernel;
  Value windows =
      WindowsOp::create(builder, named("windows"), rows(kernel * in), x, sequences, resultSequences,
                        kernel, convolution.stride, convolution.padding);
  Value stored = weight((name + ".weight").str(), {width, in, kernel}, init.linearWeight(context));
  Location loc = named("by_time");
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{width, kernel, in},
                                        builder.getF32Type());
  Value byTime =
      linalg::TransposeOp::create(builder, loc, stored, empty, ArrayRef<int64_t>{0, 2, 1})
          ->getResult(0);
  Value bias = weight((name + ".bias").str(), {width}, init.linearBias(context, kernel * in));
  return linear(windows, reshape(byTime, {width, kernel * in}, "matrix"), bias, WeightLayout::OutIn,
                lastPart(name));
}

Value Body::embedding(Value ids, StringRef name, int64_t count, int64_t width, double scale,
                      std::optional<int64_t> padding) {
  Value table = weight((name + ".weight").str(), {count, width},
                       init.embedding(builder.getContext(), padding));
  return embedding(ids, table, lastPart(name), scale, padding);
}

Value Body::embedding(Value ids, Value table, StringRef name, double scale,
                      std::optional<int64_t> padding) {
  return EmbeddingOp::create(builder, named(name), rows(widthOf(table)), ids, table,
                             builder.getF64FloatAttr(scale),
                             padding ? builder.getI64IntegerAttr(*padding) : IntegerAttr());
}

Value Body::sinusoids(Value positions, int64_t width, int64_t maxPositions, SinusoidLayout layout) {
  return SinusoidalPositionOp::create(builder, named("positions"), rows(width), positions, layout,
                                      uint64_t(maxPositions));
}

Value Body::layerNorm(Value x, StringRef name, const Norm &norm) {
  MLIRContext *context = builder.getContext();
  int64_t width = widthOf(x);
  auto part = [&](StringRef last, InitKind kind, float fixed) {
    return norm.affine ? weight((name + "." + last).str(), {width}, makeInit(context, kind))
                       : constant(SmallVector<float>(width, fixed), last);
  };
  Value gamma = part(norm.gamma, InitKind::Ones, 1), beta = part(norm.beta, InitKind::Zeros, 0);
  return LayerNormOp::create(builder, named(lastPart(name)), x.getType(), x, gamma, beta,
                             NormAttr::get(context, norm.eps, norm.unbiased, norm.epsOutside));
}

Value Body::drop(Value x, double rate) {
  if (rate == 0)
    return x;
  return DropoutOp::create(builder, named("dropped"), x.getType(), x, /*key=*/Value(),
                           builder.getF64FloatAttr(rate));
}

Value Body::constant(ArrayRef<float> values, StringRef name) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getF32Type());
  return arith::ConstantOp::create(builder, named(name), DenseElementsAttr::get(type, values));
}

Value Body::rmsNorm(Value x, StringRef name, const RmsNorm &norm) {
  MLIRContext *context = builder.getContext();
  int64_t width = widthOf(x) / norm.heads;
  InitAttr init = norm.start == 1
                      ? makeInit(context, norm.lessOne ? InitKind::Zeros : InitKind::Ones)
                      : makeInit(context, InitKind::Constant, norm.start);
  Value gamma = weight((name + ".weight").str(), {width}, init);
  if (norm.lessOne)
    gamma = add(gamma, constant(SmallVector<float>(width, 1), "one"), "gamma");
  if (norm.scale != 1) {
    Value factor = constant(SmallVector<float>(width, static_cast<float>(norm.scale)), "scale");
    gamma = arith::MulFOp::create(builder, named("gamma"), gamma, factor);
  }
  return RmsNormOp::create(builder, named(lastPart(name)), x.getType(), x, gamma,
                           NormAttr::get(context, norm.eps), norm.heads);
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
  return split(x, SmallVector<int64_t>(parts, widthOf(x) / parts), name);
}

SmallVector<Value> Body::split(Value x, ArrayRef<int64_t> widths, StringRef name) {
  auto types = llvm::map_to_vector(widths, [&](int64_t width) -> Type { return rows(width); });
  return SplitOp::create(builder, named(name), types, x).getResults();
}

/// `type` with the first dimension in place of its first `count` ones.
static RankedTensorType withFirst(RankedTensorType type, ArrayRef<int64_t> first, unsigned count) {
  SmallVector<int64_t> shape(first);
  llvm::append_range(shape, type.getShape().drop_front(count));
  return type.clone(shape);
}

/// Every dimension by itself but the first `count`, which are one.
static SmallVector<ReassociationIndices> mergeFirst(unsigned count, int64_t rank) {
  SmallVector<ReassociationIndices> result(1);
  for (int64_t d = 0; d < rank; ++d)
    if (d < count)
      result.front().push_back(d);
    else
      result.push_back({d});
  return result;
}

/// A part of a static tensor.
static Value slicePart(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> offsets,
                       ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, RankedTensorType type) {
  auto fold = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values,
                               [&](int64_t v) -> OpFoldResult { return builder.getIndexAttr(v); });
  };
  return tensor::ExtractSliceOp::create(builder, loc, type, x, fold(offsets), fold(sizes),
                                        fold(strides));
}

Value Body::slice(Value weight, int64_t first, int64_t count, StringRef name) {
  auto type = withFirst(cast<RankedTensorType>(weight.getType()), {count}, 1);
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
  offsets[0] = first;
  return slicePart(builder, named(name), weight, offsets, type.getShape(), strides, type);
}

Value Body::partOfHeads(Value weight, int64_t heads, int64_t part, int64_t parts, StringRef name) {
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t size = type.getDimSize(0) / (heads * parts);
  Location loc = named(name);
  RankedTensorType expanded = withFirst(type, {heads, parts, size}, 1);
  int64_t rank = expanded.getRank();
  Value x = tensor::ExpandShapeOp::create(builder, loc, expanded, weight, mergeFirst(3, rank));
  SmallVector<int64_t> offsets(rank, 0), sizes(expanded.getShape()), strides(rank, 1);
  offsets[1] = part;
  sizes[1] = 1;
  x = slicePart(builder, loc, x, offsets, sizes, strides, withFirst(type, {heads, size}, 1));
  return tensor::CollapseShapeOp::create(builder, loc, withFirst(type, {heads * size}, 1), x,
                                         mergeFirst(2, rank - 1));
}

Value Body::halvesOfPairs(Value weight, int64_t heads, int64_t rotated, StringRef name) {
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t size = type.getDimSize(0) / heads;
  Location loc = named(name);
  RankedTensorType expanded = withFirst(type, {heads, size}, 1);
  int64_t rank = expanded.getRank();
  Value x = tensor::ExpandShapeOp::create(builder, loc, expanded, weight, mergeFirst(2, rank));
  auto rows = [&](int64_t first, int64_t count, int64_t step) {
    SmallVector<int64_t> offsets(rank, 0), sizes(expanded.getShape()), strides(rank, 1);
    offsets[1] = first;
    sizes[1] = count;
    strides[1] = step;
    return slicePart(builder, loc, x, offsets, sizes, strides, withFirst(type, {heads, count}, 1));
  };
  SmallVector<Value> parts = {rows(0, rotated / 2, 2), rows(1, rotated / 2, 2)};
  if (rotated < size)
    parts.push_back(rows(rotated, size - rotated, 1));
  Value together = tensor::ConcatOp::create(builder, loc, expanded, uint64_t(1), parts);
  return tensor::CollapseShapeOp::create(builder, loc, type, together, mergeFirst(2, rank));
}

AttentionOptionsAttr Body::optionsOf(const AttentionOptions &options) {
  return AttentionOptionsAttr::get(builder.getContext(), options.causal, options.window,
                                   dropout.attention);
}

Value Body::attention(ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
                      double scale) {
  Value keySequences = options.memorySequences ? options.memorySequences : sequences;
  bool grouped = options.kvHeads && options.kvHeads != options.heads;
  return AttentionOp::create(builder, named("attention"), qkv[0].getType(), /*log_sum_exp=*/Type(),
                             qkv[0], qkv[1], qkv[2], sequences, keySequences, options.scaleFactor,
                             options.positionBias, options.queryScores, options.keyScores,
                             /*dropout_key=*/Value(), builder.getI64IntegerAttr(options.heads),
                             grouped ? builder.getI64IntegerAttr(options.kvHeads) : IntegerAttr(),
                             builder.getF64FloatAttr(scale), optionsOf(options),
                             options.columns.empty()
                                 ? DenseI32ArrayAttr()
                                 : builder.getDenseI32ArrayAttr(options.columns))
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
                        WeightLayout layout, std::optional<InitScheme> downInit, bool hasBias) {
  auto [upWeight, upBias] = linearWeights(up, widthOf(x), width, layout, init, hasBias);
  auto [downWeight, downBias] =
      linearWeights(down, width, widthOf(x), layout, downInit.value_or(init), hasBias);
  SmallVector<Value> biases;
  if (hasBias)
    biases = {upBias, downBias};
  return FeedForwardOp::create(builder, named("feed_forward"), x.getType(), kind, x,
                               ValueRange{upWeight, downWeight}, biases, layout,
                               llvm::APFloat(dropout.activation));
}

Value Body::gatedFeedForward(ActivationKind kind, Value x, StringRef gate, StringRef up,
                             StringRef down, int64_t width, bool hasBias,
                             std::optional<InitScheme> downInit) {
  SmallVector<Value> weights, biases;
  for (StringRef name : {gate, up, down}) {
    bool isDown = name == down;
    auto [matrix, bias] =
        linearWeights(name, isDown ? width : widthOf(x), isDown ? widthOf(x) : width,
                      WeightLayout::OutIn, isDown ? downInit.value_or(init) : init, hasBias);
    weights.push_back(matrix);
    if (hasBias)
      biases.push_back(bias);
  }
  return FeedForwardOp::create(builder, named("feed_forward"), x.getType(), kind, x, weights,
                               biases, WeightLayout::OutIn, llvm::APFloat(dropout.activation));
}

Value Body::gatedFeedForward(ActivationKind kind, Value x, StringRef gateUp, StringRef down,
                             int64_t width) {
  Value both = linearWeights(gateUp, widthOf(x), 2 * width, WeightLayout::OutIn, init, false).first;
  Value weights[] = {
      slice(both, 0, width, "gate"), slice(both, width, width, "up"),
      linearWeights(down, width, widthOf(x), WeightLayout::OutIn, init, false).first};
  return FeedForwardOp::create(builder, named("feed_forward"), x.getType(), kind, x, weights,
                               ValueRange(), WeightLayout::OutIn,
                               llvm::APFloat(dropout.activation));
}

Value Body::firstToken(Value x, Value sequences) {
  return FirstTokenOp::create(builder, named("first"), x.getType(), x, sequences);
}

Value Body::lastToken(Value x, Value sequences) {
  return LastTokenOp::create(builder, named("last"), x.getType(), x, sequences);
}

Value Body::unpack(Value x, Value sequences, StringRef name, std::optional<int64_t> column) {
  SmallVector<int64_t> shape(2, ShapedType::kDynamic);
  if (!column)
    shape.push_back(widthOf(x));
  return UnpackTokensOp::create(builder, named(name),
                                RankedTensorType::get(shape, builder.getF32Type()), x, sequences,
                                column ? builder.getI64IntegerAttr(*column) : IntegerAttr());
}

Value Body::unpackFixed(Value x, Value sequences, StringRef name, int64_t length) {
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, length, widthOf(x)}, builder.getF32Type());
  return UnpackTokensOp::create(builder, named(name), type, x, sequences, IntegerAttr());
}

Value Body::reshape(Value x, ArrayRef<int64_t> shape, StringRef name) {
  auto type = cast<RankedTensorType>(x.getType());
  Type element = type.getElementType();
  Location loc = named(name);
  if (type.getRank() > 1)
    x = tensor::CollapseShapeOp::create(builder, loc,
                                        RankedTensorType::get({type.getNumElements()}, element), x,
                                        mergeFirst(type.getRank(), type.getRank()));
  if (shape.size() == 1)
    return x;
  return tensor::ExpandShapeOp::create(builder, loc, RankedTensorType::get(shape, element), x,
                                       mergeFirst(shape.size(), shape.size()));
}
