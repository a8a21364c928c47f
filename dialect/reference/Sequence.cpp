//===- Sequence.cpp - where tokens enter and leave ------------------------===//
#include "dialect/reference/Operations.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

LogicalResult reference::checkRows(Operation *op, Frame &frame, StringRef what, const Tensor &x,
                                   const Sequences &sequences) {
  if (x.shape[0] == sequences.tokens())
    return success();
  return frame.fail(op, what + " has " + Twine(x.shape[0]) + " rows, but its sequences have " +
                            Twine(sequences.tokens()) + " tokens");
}

LogicalResult reference::checkBatch(Operation *op, Frame &frame, const Sequences &queries,
                                    const Sequences &keys) {
  if (queries.batch == keys.batch)
    return success();
  return frame.fail(op, "sequences hold a batch of " + Twine(queries.batch) +
                            ", but memory's hold a batch of " + Twine(keys.batch));
}

LogicalResult reference::evaluate(PackTokensOp op, Frame &frame) {
  const Tensor &mask = frame.tensor(op.getMask());
  Sequences sequences;
  sequences.batch = mask.shape[0];
  sequences.length = mask.shape[1];
  sequences.offsets.push_back(0);
  for (int64_t b = 0; b < sequences.batch; ++b) {
    for (int64_t s = 0; s < sequences.length; ++s)
      if (int64_t place = b * sequences.length + s; mask.integers()[place] != 0)
        sequences.places.push_back(place);
    sequences.offsets.push_back(sequences.tokens());
  }
  for (auto [i, input, result] : llvm::enumerate(op.getInputs(), op.getPacked())) {
    const Tensor &grid = frame.tensor(input);
    if (grid.shape != mask.shape)
      return frame.fail(op, "input " + Twine(i) + " has shape " + shapeText(grid.shape) +
                                ", but the mask has " + shapeText(mask.shape));
    Tensor packed = Tensor::integerZeros({sequences.tokens()});
    for (auto [t, place] : llvm::enumerate(sequences.places))
      packed.integers()[t] = grid.integers()[place];
    frame.set(result, std::move(packed));
  }
  frame.set(op.getSequences(), std::move(sequences));
  return success();
}

LogicalResult reference::evaluate(UniformSequencesOp op, Frame &frame) {
  Sequences sequences;
  sequences.batch = frame.tensor(op.getX()).shape[0];
  sequences.length = op.getLength();
  for (int64_t b = 0; b <= sequences.batch; ++b)
    sequences.offsets.push_back(b * sequences.length);
  for (int64_t place = 0; place < sequences.offsets.back(); ++place)
    sequences.places.push_back(place);
  frame.set(op.getSequences(), std::move(sequences));
  return success();
}

LogicalResult reference::evaluate(TokenColumnsOp op, Frame &frame) {
  const Sequences &sequences = frame.sequences(op.getSequences());
  Tensor result = Tensor::integerZeros({sequences.tokens()});
  for (auto [t, place] : llvm::enumerate(sequences.places))
    result.integers()[t] = place % sequences.length;
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(UnpackTokensOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (failed(checkRows(op, frame, "x", x, sequences)))
    return failure();
  int64_t width = op.getColumn() ? 1 : x.shape[1];
  Tensor result = Tensor::zeros({sequences.batch, sequences.length});
  if (!op.getColumn())
    result = Tensor::zeros({sequences.batch, sequences.length, width});
  for (auto [t, place] : llvm::enumerate(sequences.places))
    for (int64_t c = 0; c < width; ++c)
      result.reals()[place * width + c] = x.row(t)[op.getColumn().value_or(0) + c];
  frame.set(op.getResult(), std::move(result));
  return success();
}

/// Of every sequence the first row, or the last one.
template <typename OpTy> static LogicalResult pickToken(OpTy op, Frame &frame, bool last) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (failed(checkRows(op, frame, "x", x, sequences)))
    return failure();
  Tensor result = Tensor::zeros({sequences.batch, x.shape[1]});
  for (int64_t b = 0; b < sequences.batch; ++b)
    if (int64_t first = sequences.offsets[b], end = sequences.offsets[b + 1]; first < end)
      std::copy_n(x.row(last ? end - 1 : first), x.shape[1], result.row(b));
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(FirstTokenOp op, Frame &frame) {
  return pickToken(op, frame, /*last=*/false);
}
LogicalResult reference::evaluate(LastTokenOp op, Frame &frame) {
  return pickToken(op, frame, /*last=*/true);
}

LogicalResult reference::evaluate(ClearEmptyOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (x.shape[0] != sequences.batch)
    return op.emitError() << "x has " << x.shape[0] << " rows, expected one for each of "
                          << sequences.batch << " sequences";
  Tensor result = Tensor::zeros(x.shape);
  for (int64_t b = 0; b < sequences.batch; ++b)
    if (sequences.offsets[b] < sequences.offsets[b + 1])
      std::copy_n(x.row(b), x.shape[1], result.row(b));
  frame.set(op.getResult(), std::move(result));
  return success();
}
