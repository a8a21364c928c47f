//===- Quantize.cpp - what narrow formats hold of weights and rows --------===//
//
// In float, as the definition says: which number is nearest depends on how the
// quotient is rounded.
//
//===----------------------------------------------------------------------===//
#include "dialect/reference/Operations.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

namespace {

/// To bfloat16, of which scales of int4 are.
float toBf16(float x) { return static_cast<float>(roundTo(llvm::APFloat::BFloat(), x)); }

Tensor rounded(const Tensor &x, const llvm::fltSemantics &format) {
  Tensor result = x;
  for (double &value : result.reals())
    value = roundTo(format, static_cast<float>(value));
  return result;
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

/// Null: numbers that have scales.
const llvm::fltSemantics *semanticsOf(WeightFormat format) {
  switch (format) {
  case WeightFormat::Bf16:
    return &llvm::APFloat::BFloat();
  case WeightFormat::F16:
    return &llvm::APFloat::IEEEhalf();
  case WeightFormat::Tf32:
    return &llvm::APFloat::FloatTF32();
  case WeightFormat::Int8:
  case WeightFormat::Int4:
    return nullptr;
  }
  llvm_unreachable("a format of weights");
}

} // namespace

double reference::roundTo(const llvm::fltSemantics &format, double x, bool anyExponent) {
  if (!std::isfinite(x))
    return x;
  auto digits = static_cast<int>(llvm::APFloat::semanticsPrecision(format));
  int exponent;
  std::frexp(x, &exponent);
  if (!anyExponent) // numbers below the least normal one lie as far apart as those above it
    exponent = std::max(exponent, llvm::APFloat::semanticsMinExponent(format) + 1);
  double significand = std::ldexp(x, digits - exponent);
  bool areTiesAway = &format == &llvm::APFloat::FloatTF32();
  significand = areTiesAway ? std::round(significand) : std::nearbyint(significand);
  double result = std::ldexp(significand, exponent - digits);
  bool isInRange =
      std::abs(result) < std::ldexp(1, llvm::APFloat::semanticsMaxExponent(format) + 1);
  return anyExponent || isInRange ? result : std::copysign(INFINITY, x);
}

Tensor reference::quantizeRows(const Tensor &x, WeightFormat format) {
  if (const llvm::fltSemantics *semantics = semanticsOf(format))
    return rounded(x, *semantics);
  Tensor result = x;
  int64_t width = x.shape[1];
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t first = 0; first < width; first += weightGroup)
      quantizeGroup(
          {result.row(t) + first, static_cast<size_t>(std::min(weightGroup, width - first))});
  return result;
}

Tensor reference::quantizeWeight(const Tensor &weight, WeightFormat format, WeightLayout layout) {
  if (const llvm::fltSemantics *semantics = semanticsOf(format))
    return rounded(weight, *semantics);
  Tensor result = weight;
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
