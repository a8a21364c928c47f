//===- Layer.cpp - linear, normalisation, activation ----------------------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

Tensor reference::linear(const Tensor &x, const Tensor &weight, const Tensor *bias,
                         WeightLayout layout) {
  bool outIn = layout == WeightLayout::OutIn;
  int64_t tokens = x.shape[0], in = x.shape[1], out = weight.shape[outIn ? 0 : 1];
  Tensor result = Tensor::zeros({tokens, out});
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t n = 0; n < out; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < in; ++k)
        sum += x.row(t)[k] * (outIn ? weight.row(n)[k] : weight.row(k)[n]);
      result.row(t)[n] = bias ? sum + bias->reals()[n] : sum;
    }
  return result;
}

Tensor reference::add(const Tensor &a, const Tensor &b) {
  Tensor sum = a;
  for (auto [s, r] : llvm::zip_equal(sum.reals(), b.reals()))
    s += r;
  return sum;
}

/// What a row is divided by: from its variance, or the mean of its squares.
static double deviationOf(double variance, NormAttr norm) {
  double eps = norm.getEps().convertToDouble();
  return norm.getEpsOutside() ? std::sqrt(variance) + eps : std::sqrt(variance + eps);
}

Tensor reference::layerNorm(const Tensor &x, const Tensor &gamma, const Tensor &beta,
                            NormAttr norm) {
  int64_t width = x.shape[1];
  Tensor result = x;
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    double mean = 0, squares = 0;
    for (int64_t c = 0; c < width; ++c)
      mean += x.row(t)[c];
    mean /= width;
    for (int64_t c = 0; c < width; ++c)
      squares += (x.row(t)[c] - mean) * (x.row(t)[c] - mean);
    double deviation = deviationOf(squares / (norm.getUnbiased() ? width - 1 : width), norm);
    for (int64_t c = 0; c < width; ++c)
      result.row(t)[c] = gamma.reals()[c] * (x.row(t)[c] - mean) / deviation + beta.reals()[c];
  }
  return result;
}

Tensor reference::rmsNorm(const Tensor &x, const Tensor &gamma, NormAttr norm) {
  int64_t width = gamma.shape[0];
  Tensor result = x;
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t first = 0; first < x.shape[1]; first += width) {
      const double *from = x.row(t) + first;
      double squares = 0;
      for (int64_t c = 0; c < width; ++c)
        squares += from[c] * from[c];
      double deviation = deviationOf(squares / width, norm);
      for (int64_t c = 0; c < width; ++c)
        result.row(t)[first + c] = from[c] / deviation * gamma.reals()[c];
    }
  return result;
}

double reference::activate(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::Relu:
    return x < 0 ? 0 : x; // NaN stays
  case ActivationKind::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case ActivationKind::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case ActivationKind::Silu:
    return x / (1 + std::exp(-x));
  case ActivationKind::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case ActivationKind::Tanh:
    return std::tanh(x);
  }
  llvm_unreachable("unknown activation");
}

Tensor reference::activate(ActivationKind kind, Tensor x) {
  for (double &value : x.reals())
    value = activate(kind, value);
  return x;
}

LogicalResult reference::evaluate(LinearOp op, Frame &frame) {
  frame.set(op.getResult(), linear(frame.tensor(op.getX()), frame.tensor(op.getWeight()),
                                   frame.optional(op.getBias()), op.getLayout()));
  return success();
}

LogicalResult reference::evaluate(SplitOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  int64_t first = 0;
  for (Value value : op.getResults()) {
    Tensor result = Tensor::zeros({x.shape[0], widthOf(value)});
    for (int64_t t = 0; t < x.shape[0]; ++t)
      std::copy_n(x.row(t) + first, result.shape[1], result.row(t));
    first += result.shape[1];
    frame.set(value, std::move(result));
  }
  return success();
}

LogicalResult reference::evaluate(LayerNormOp op, Frame &frame) {
  frame.set(op.getResult(), layerNorm(frame.tensor(op.getX()), frame.tensor(op.getGamma()),
                                      frame.tensor(op.getBeta()), op.getNorm()));
  return success();
}

LogicalResult reference::evaluate(RmsNormOp op, Frame &frame) {
  frame.set(op.getResult(),
            rmsNorm(frame.tensor(op.getX()), frame.tensor(op.getGamma()), op.getNorm()));
  return success();
}

/// `norm` of x + residual, and the sum where it is asked for.
template <typename OpTy>
static LogicalResult evaluateResidual(OpTy op, Frame &frame,
                                      llvm::function_ref<Tensor(const Tensor &)> norm) {
  const Tensor &x = frame.tensor(op.getX()), &residual = frame.tensor(op.getResidual());
  if (x.shape != residual.shape)
    return frame.fail(op, "x has shape " + shapeText(x.shape) + ", but the residual has " +
                              shapeText(residual.shape));
  Tensor sum = add(x, residual);
  frame.set(op.getResult(), norm(sum));
  if (op.getSum())
    frame.set(op.getSum(), std::move(sum));
  return success();
}

LogicalResult reference::evaluate(ResidualLayerNormOp op, Frame &frame) {
  return evaluateResidual(op, frame, [&](const Tensor &sum) {
    return layerNorm(sum, frame.tensor(op.getGamma()), frame.tensor(op.getBeta()), op.getNorm());
  });
}

LogicalResult reference::evaluate(ResidualRmsNormOp op, Frame &frame) {
  return evaluateResidual(op, frame, [&](const Tensor &sum) {
    return rmsNorm(sum, frame.tensor(op.getGamma()), op.getNorm());
  });
}

LogicalResult reference::evaluate(ActivationOp op, Frame &frame) {
  frame.set(op.getResult(), activate(op.getKind(), frame.tensor(op.getX())));
  return success();
}
