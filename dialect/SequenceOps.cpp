//===- SequenceOps.cpp - where tokens enter and leave ---------------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::transformer;

LogicalResult PackTokensOp::verify() {
  if (getInputs().size() != getPacked().size())
    return emitOpError() << "expected one packed result for each of the " << getInputs().size()
                         << " inputs, found " << getPacked().size();
  return success();
}

LogicalResult PackTokensOp::canonicalize(PackTokensOp op, PatternRewriter &rewriter) {
  SmallVector<Value> inputs, used;
  SmallVector<Type> types;
  for (auto [input, packed] : llvm::zip(op.getInputs(), op.getPacked()))
    if (!packed.use_empty()) {
      inputs.push_back(input);
      used.push_back(packed);
      types.push_back(packed.getType());
    }
  if (used.size() == op.getPacked().size())
    return failure();
  auto pruned = PackTokensOp::create(rewriter, op.getLoc(), types, op.getSequences().getType(),
                                     inputs, op.getMask());
  pruned->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(used, pruned.getPacked());
  rewriter.replaceAllUsesWith(op.getSequences(), pruned.getSequences());
  rewriter.eraseOp(op);
  return success();
}

LogicalResult UniformSequencesOp::verify() {
  if (cast<RankedTensorType>(getX().getType()).getRank() < 1)
    return emitOpError() << "expected x of a batch, found " << getX().getType();
  if (static_cast<int64_t>(getLength()) < 1)
    return emitOpError() << "expected length >= 1, found " << static_cast<int64_t>(getLength());
  return success();
}

LogicalResult UnpackTokensOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  int64_t width = widthOf(getX());
  int64_t rank = getColumn() ? 2 : 3;
  if (type.getRank() != rank)
    return emitOpError() << "expected a result of rank " << rank << ", found " << type;
  if (!getColumn())
    return verifyWidth(*this, "a result", getResult(), width);
  int64_t column = *getColumn();
  if (column < 0 || column >= width)
    return emitOpError() << "expected a column in [0, " << width << "), found " << column;
  return success();
}

LogicalResult FirstTokenOp::verify() {
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}

LogicalResult LastTokenOp::verify() {
  return verifyWidth(*this, "a result", getResult(), widthOf(getX()));
}
