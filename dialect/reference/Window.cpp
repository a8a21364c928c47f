//===- Window.cpp - rows from pixels and from neighbouring rows -----------===//
#include "dialect/reference/Operations.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

LogicalResult reference::evaluate(PatchesOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &sequences = frame.sequences(op.getSequences());
  int64_t first = op.getFirst(), length = first + op.numPatches();
  if (sequences.batch != x.shape[0] || sequences.length != length)
    return frame.fail(op, "sequences are of a mask " +
                              shapeText({sequences.batch, sequences.length}) + ", expected " +
                              shapeText({x.shape[0], length}));
  // A signal is an image of one line.
  bool image = x.rank() == 4;
  int64_t channels = x.shape[1], height = image ? x.shape[2] : 1, width = x.shape.back();
  int64_t down = image ? op.getSizes()[0] : 1, across = op.getSizes().back();
  Tensor result = Tensor::zeros({sequences.tokens(), channels * down * across});
  for (auto [t, place] : llvm::enumerate(sequences.places)) {
    int64_t b = place / length, patch = place % length - first;
    if (patch < 0)
      continue;
    int64_t top = patch / (width / across) * down, left = patch % (width / across) * across;
    double *to = result.row(t);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < down; ++i)
        for (int64_t j = 0; j < across; ++j)
          *to++ = x.reals()[((b * channels + c) * height + top + i) * width + left + j];
  }
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(WindowsOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &from = frame.sequences(op.getSequences());
  const Sequences &to = frame.sequences(op.getResultSequences());
  if (failed(checkRows(op, frame, "x", x, from)) || failed(checkBatch(op, frame, from, to)))
    return failure();
  int64_t width = x.shape[1], kernel = op.getKernel(), stride = op.getStride();
  Tensor result = Tensor::zeros({to.tokens(), kernel * width});
  for (int64_t b = 0; b < to.batch; ++b)
    for (int64_t row = to.offsets[b]; row < to.offsets[b + 1]; ++row)
      for (int64_t j = 0; j < kernel; ++j) {
        int64_t source = from.offsets[b] + (row - to.offsets[b]) * stride -
                         static_cast<int64_t>(op.getPadding()) + j;
        if (source >= from.offsets[b] && source < from.offsets[b + 1])
          std::copy_n(x.row(source), width, result.row(row) + j * width);
      }
  frame.set(op.getResult(), std::move(result));
  return success();
}
