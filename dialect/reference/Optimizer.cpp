//===- Optimizer.cpp - what a training step does with gradients -----------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

static double scalar(Frame &frame, Value value) { return frame.tensor(value).reals()[0]; }

static double stepOf(Frame &frame, Value value) {
  return static_cast<double>(frame.tensor(value).integers()[0]);
}

/// Of the elements of `x` those that an update is of.
static llvm::iota_range<int64_t> updated(Frame &frame, const Tensor &x, ValueRange rows,
                                         bool isSkipped) {
  if (isSkipped)
    return llvm::seq<int64_t>(0);
  if (rows.empty())
    return llvm::seq<int64_t>(x.size());
  int64_t width = x.size() / std::max<int64_t>(x.shape.front(), 1);
  auto row = [&](Value value) { return frame.tensor(value).integers()[0] * width; };
  return llvm::seq<int64_t>(row(rows[0]), row(rows[1]));
}

static double sumSquares(const Tensor &x) {
  double sum = 0;
  for (double element : x.reals())
    sum += element * element;
  return sum;
}

static double rms(const Tensor &x) {
  return std::sqrt(sumSquares(x) / static_cast<double>(x.size()));
}

LogicalResult reference::evaluate(SumSquaresOp op, Frame &frame) {
  double sum = sumSquares(frame.tensor(op.getX()));
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
  double step = stepOf(frame, op.getStep());
  double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
  const Tensor &gradient = frame.tensor(op.getGradient());
  Tensor parameter = frame.tensor(op.getParameter()), mean = frame.tensor(op.getMean()),
         variance = frame.tensor(op.getVariance());
  bool isSkipped = op.getSkippable() && std::isnan(scale);
  for (int64_t i : updated(frame, parameter, op.getRows(), isSkipped)) {
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

LogicalResult reference::evaluate(SgdUpdateOp op, Frame &frame) {
  double rate = scalar(frame, op.getLearningRate()), momentum = scalar(frame, op.getMomentum());
  double decay = scalar(frame, op.getWeightDecay()), scale = scalar(frame, op.getScale());
  const Tensor &gradient = frame.tensor(op.getGradient());
  Tensor parameter = frame.tensor(op.getParameter()), buffer = frame.tensor(op.getMomentumBuffer());
  bool isSkipped = op.getSkippable() && std::isnan(scale);
  for (int64_t i : updated(frame, parameter, op.getRows(), isSkipped)) {
    double &p = parameter.reals()[i], &m = buffer.reals()[i];
    m = momentum * m + scale * gradient.reals()[i] + decay * p;
    p -= rate * m;
  }
  frame.set(op.getNewParameter(), std::move(parameter));
  frame.set(op.getNewMomentumBuffer(), std::move(buffer));
  return success();
}

/// Updates the moments of matrices with g, and returns the variance of each of its elements.
static Tensor factoredVariance(const Tensor &g, double share, double eps1, Tensor &ofRows,
                               Tensor &ofColumns) {
  int64_t rows = g.shape.end()[-2], columns = g.shape.back();
  for (double &v : ofRows.reals())
    v *= 1 - share;
  for (double &v : ofColumns.reals())
    v *= 1 - share;
  Tensor result = g;
  for (int64_t matrix = 0; matrix * rows < int64_t(ofRows.reals().size()); ++matrix) {
    double *v = result.reals().data() + matrix * rows * columns;
    MutableArrayRef<double> ofRow(ofRows.reals()), ofColumn(ofColumns.reals());
    ofRow = ofRow.slice(matrix * rows, rows);
    ofColumn = ofColumn.slice(matrix * columns, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double square = v[i * columns + j] * v[i * columns + j];
        ofRow[i] += share * square / static_cast<double>(columns);
        ofColumn[j] += share * square / static_cast<double>(rows);
      }
    double mean = 0;
    for (double variance : ofRow)
      mean += variance / static_cast<double>(rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        v[i * columns + j] = ofRow[i] * ofColumn[j] / std::max(mean, eps1);
  }
  return result;
}

LogicalResult reference::evaluate(AdafactorUpdateOp op, Frame &frame) {
  double step = stepOf(frame, op.getStep()), rate = scalar(frame, op.getLearningRate());
  double share = std::pow(step, scalar(frame, op.getBeta2Decay()));
  double eps1 = scalar(frame, op.getEps1()), eps2 = scalar(frame, op.getEps2());
  double decay = scalar(frame, op.getWeightDecay()), scale = scalar(frame, op.getScale());
  Tensor parameter = frame.tensor(op.getParameter()), update = frame.tensor(op.getGradient());
  SmallVector<Tensor> moments;
  for (Value moment : op.getMoments())
    moments.push_back(frame.tensor(moment));
  for (double &g : update.reals())
    g *= scale;
  Tensor variance;
  if (moments.size() == 2) {
    variance = factoredVariance(update, share, eps1, moments[0], moments[1]);
  } else {
    for (auto [v, g] : llvm::zip_equal(moments[0].reals(), update.reals()))
      v = (1 - share) * v + share * g * g;
    variance = moments[0];
  }
  for (auto [g, v] : llvm::zip_equal(update.reals(), variance.reals()))
    g /= std::sqrt(std::max(v, eps1 * eps1));
  double size = std::min(rate, 1 / std::sqrt(step)) * std::max(eps2, rms(parameter));
  size /= std::max(1.0, rms(update) / scalar(frame, op.getClipThreshold()));
  for (auto [p, u] : llvm::zip_equal(parameter.reals(), update.reals()))
    p = (1 - rate * decay) * p - size * u;
  frame.set(op.getNewParameter(), std::move(parameter));
  for (auto [result, moment] : llvm::zip_equal(op.getNewMoments(), moments))
    frame.set(result, std::move(moment));
  return success();
}
