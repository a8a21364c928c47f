//===- Quantize.cpp - what narrow formats hold of weights and rows --------===//
//
// In float, as the definition says: which number is nearest depends on how the
// quotient is rounded.
//
//===----------------------------------------------------------------------===//
#include "dialect/reference/Operations.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

namespace {

float toBf16(float x) {
  if (std::isnan(x))
    return x;
  auto bits = llvm::bit_cast<uint32_t>(x);
  bits += 0x7fff + (bits >> 16 & 1);
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

void roundToBf16(Tensor &tensor) {
  for (double &value : tensor.reals())
    value = toBf16(static_cast<float>(value));
}

/// Of the absolutely largest of `weights`.
float scaleOf(llvm::ArrayRef<double *> weights, WeightFormat format) {
  float most = 0, least = 0;
  for (double *weight : weights) {
    auto w = static_cast<float>(*weight);
    if (!std::isfinite(w))
      return NAN;
    most = std::max(most, w);
    least = std::min(least, w);
  }
  if (format == WeightFormat::Int8)
    return std::max(most, -least) / 127;
  return toBf16((most >= -least ? most : least) / -8);
}

/// `weights` share a scale.
void quantize(llvm::ArrayRef<double *> weights, WeightFormat format) {
  float scale = scaleOf(weights, format);
  float least = format == WeightFormat::Int8 ? -127 : -8,
        most = format == WeightFormat::Int8 ? 127 : 7;
  for (double *weight : weights) {
    float quotient = static_cast<float>(*weight) / scale;
    float q = std::isnan(quotient) ? 0 : std::clamp(std::nearbyint(quotient), least, most);
    *weight = q * scale;
  }
}

/// Features that share a scale.
void quantizeGroup(llvm::MutableArrayRef<double> x) {
  float most = 0;
  for (double value : x)
    most = std::isfinite(static_cast<float>(value))
               ? std::max(most, std::abs(static_cast<float>(value)))
               : NAN;
  float scale = most / 127, inverse = 127 / most;
  for (double &value : x) {
    float q = std::isinf(inverse) ? 0 : std::nearbyint(static_cast<float>(value) * inverse);
    value = q * scale;
  }
}

} // namespace

Tensor reference::quantizeRows(const Tensor &x, WeightFormat format) {
  Tensor result = x;
  if (format == WeightFormat::Bf16) {
    roundToBf16(result);
    return result;
  }
  int64_t width = x.shape[1];
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t first = 0; first < width; first += weightGroup)
      quantizeGroup(
          {result.row(t) + first, static_cast<size_t>(std::min(weightGroup, width - first))});
  return result;
}

Tensor reference::quantizeWeight(const Tensor &weight, WeightFormat format, WeightLayout layout) {
  Tensor result = weight;
  if (format == WeightFormat::Bf16) {
    roundToBf16(result);
    return result;
  }
  bool outIn = layout == WeightLayout::OutIn;
  int64_t outputs = weight.shape[outIn ? 0 : 1], inputs = weight.shape[outIn ? 1 : 0];
  int64_t group = format == WeightFormat::Int8 ? inputs : weightGroup;
  for (int64_t n = 0; n < outputs; ++n)
    for (int64_t first = 0; first < inputs; first += group) {
      llvm::SmallVector<double *> weights;
      for (int64_t k = first; k < std::min(first + group, inputs); ++k)
        weights.push_back(outIn ? result.row(n) + k : result.row(k) + n);
      quantize(weights, format);
    }
  return result;
}

LogicalResult reference::evaluate(QuantizeWeightOp op, Frame &frame) {
  frame.set(op.getResult(),
            quantizeWeight(frame.tensor(op.getWeight()), op.getFormat(), op.getLayout()));
  return success();
}

LogicalResult reference::evaluate(QuantizeRowsOp op, Frame &frame) {
  frame.set(op.getResult(), quantizeRows(frame.tensor(op.getX()), op.getFormat()));
  return success();
}
