//===- Optimizer.cpp - what a training step does with gradients -----------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

static double scalar(Frame &frame, Value value) { return frame.tensor(value).reals()[0]; }

LogicalResult reference::evaluate(SumSquaresOp op, Frame &frame) {
  double sum = 0;
  for (double x : frame.tensor(op.getX()).reals())
    sum += x * x;
  frame.set(op.getResult(), Tensor{{}, std::vector<double>{sum}});
  return success();
}

LogicalResult reference::evaluate(ClipGradNormOp op, Frame &frame) {
  double norm = std::sqrt(scalar(frame, op.getSquares())), most = scalar(frame, op.getMaxNorm());
  double scale = most > 0 ? std::min(1.0, most / (norm + 1e-6)) : 1.0;
  frame.set(op.getNorm(), Tensor{{}, std::vector<double>{norm}});
  frame.set(op.getScale(), Tensor{{}, std::vector<double>{scale}});
  return success();
}

LogicalResult reference::evaluate(AdamWUpdateOp op, Frame &frame) {
  double beta1 = scalar(frame, op.getBeta1()), beta2 = scalar(frame, op.getBeta2());
  double rate = scalar(frame, op.getLearningRate()), epsilon = scalar(frame, op.getEpsilon());
  double decay = scalar(frame, op.getWeightDecay()), scale = scalar(frame, op.getScale());
  auto step = static_cast<double>(frame.tensor(op.getStep()).integers()[0]);
  double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
  const Tensor &gradient = frame.tensor(op.getGradient());
  Tensor parameter = frame.tensor(op.getParameter()), mean = frame.tensor(op.getMean()),
         variance = frame.tensor(op.getVariance());
  for (int64_t i = 0; i < parameter.size(); ++i) {
    double g = scale * gradient.reals()[i];
    double &p = parameter.reals()[i], &m = mean.reals()[i], &v = variance.reals()[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    p = (1 - rate * decay) * p - rate / correction1 * m / (std::sqrt(v / correction2) + epsilon);
  }
  frame.set(op.getNewParameter(), std::move(parameter));
  frame.set(op.getNewMean(), std::move(mean));
  frame.set(op.getNewVariance(), std::move(variance));
  return success();
}
