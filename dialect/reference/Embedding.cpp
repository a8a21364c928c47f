//===- Embedding.cpp - from ids to rows -----------------------------------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

/// result[t, :] += scale * table[ids[t], :]
static LogicalResult addRows(Operation *op, Frame &frame, Tensor &result, const Tensor &ids,
                             const Tensor &table, double scale) {
  if (ids.shape[0] != result.shape[0])
    return frame.fail(op, "found " + Twine(ids.shape[0]) + " ids beside " + Twine(result.shape[0]));
  for (auto [t, id] : llvm::enumerate(ids.integers())) {
    if (id < 0 || id >= table.shape[0])
      return frame.fail(op, "id " + Twine(id) + " of token " + Twine(t) + " is not in [0, " +
                                Twine(table.shape[0]) + ")");
    for (int64_t c = 0; c < table.shape[1]; ++c)
      result.row(t)[c] += scale * table.row(id)[c];
  }
  return success();
}

static Tensor sinusoidalTable(int64_t positions, int64_t width, SinusoidLayout layout) {
  Tensor table = Tensor::zeros({positions, width});
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t c = 0; c < width; ++c)
      table.row(p)[c] = sinusoid(p, c, width, layout);
  return table;
}

double reference::sinusoid(int64_t position, int64_t column, int64_t width, SinusoidLayout layout) {
  int64_t half = (width + 1) / 2;
  bool interleaved = layout == SinusoidLayout::Interleaved;
  int64_t pair = interleaved ? column / 2 : column % half;
  bool isCos = interleaved ? column % 2 : column >= half;
  double angle = position / std::pow(10000.0, 2.0 * pair / width);
  return isCos ? std::cos(angle) : std::sin(angle);
}

LogicalResult reference::evaluate(EmbeddingOp op, Frame &frame) {
  const Tensor &ids = frame.tensor(op.getIds()), &table = frame.tensor(op.getTable());
  Tensor result = Tensor::zeros({ids.shape[0], table.shape[1]});
  if (failed(addRows(op, frame, result, ids, table, op.getScale().convertToDouble())))
    return failure();
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(SinusoidalTableOp op, Frame &frame) {
  auto type = cast<RankedTensorType>(op.getType());
  frame.set(op.getResult(),
            sinusoidalTable(type.getDimSize(0), type.getDimSize(1), op.getLayout()));
  return success();
}

LogicalResult reference::evaluate(SinusoidalPositionOp op, Frame &frame) {
  const Tensor &positions = frame.tensor(op.getPositions());
  Tensor table = sinusoidalTable(op.getMaxPositions(), widthOf(op.getResult()), op.getLayout());
  Tensor result = Tensor::zeros({positions.shape[0], table.shape[1]});
  if (failed(addRows(op, frame, result, positions, table, 1.0)))
    return failure();
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(EmbeddingLayerNormOp op, Frame &frame) {
  Tensor sum = Tensor::zeros({frame.tensor(op.getIds()[0]).shape[0], widthOf(op.getResult())});
  for (auto [ids, table] : llvm::zip(op.getIds(), op.getTables()))
    if (failed(addRows(op, frame, sum, frame.tensor(ids), frame.tensor(table), 1.0)))
      return failure();
  frame.set(op.getResult(),
            layerNorm(sum, frame.tensor(op.getGamma()), frame.tensor(op.getBeta()), op.getNorm()));
  return success();
}

LogicalResult reference::evaluate(RotaryTableOp op, Frame &frame) {
  const Tensor &positions = frame.tensor(op.getPositions());
  SmallVector<double> frequencies = op.allFrequencies();
  int64_t width = widthOf(op.getResult()), half = width / 2;
  double scale = op.getScale().convertToDouble();
  Tensor table = Tensor::zeros({positions.shape[0], width});
  for (auto [t, position] : llvm::enumerate(positions.integers()))
    for (auto [i, frequency] : llvm::enumerate(frequencies)) {
      double angle = double(position) * frequency;
      table.row(t)[i] = scale * std::cos(angle);
      table.row(t)[half + i] = scale * std::sin(angle);
    }
  frame.set(op.getResult(), std::move(table));
  return success();
}

LogicalResult reference::evaluate(RotaryEmbeddingOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &table = frame.tensor(op.getTable());
  if (x.shape[0] != table.shape[0])
    return frame.fail(op, "x has " + Twine(x.shape[0]) + " rows, but the table has " +
                              Twine(table.shape[0]));
  int64_t headDim = op.headDim(), half = table.shape[1] / 2;
  Tensor result = x;
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t head = 0; head < x.shape[1]; head += headDim)
      for (int64_t i = 0; i < half; ++i) {
        double first = x.row(t)[head + i], second = x.row(t)[head + half + i];
        double cosine = table.row(t)[i], sine = table.row(t)[half + i];
        result.row(t)[head + i] = first * cosine - second * sine;
        result.row(t)[head + half + i] = second * cosine + first * sine;
      }
  frame.set(op.getResult(), std::move(result));
  return success();
}
