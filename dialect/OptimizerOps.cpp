//===- OptimizerOps.cpp - what a training step does with gradients --------===//
#include "dialect/OptimizerOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#define GET_OP_CLASSES
#include "dialect/OptimizerOps.cpp.inc"

SmallVector<RankedTensorType> AdafactorUpdateOp::momentTypes(RankedTensorType parameter) {
  if (parameter.getRank() < 2)
    return {parameter};
  SmallVector<int64_t> ofRows(parameter.getShape()), ofColumns(parameter.getShape());
  ofRows.end()[-1] = ofColumns.end()[-2] = 1;
  return {parameter.clone(ofRows), parameter.clone(ofColumns)};
}

static LogicalResult checkRows(Operation *op, ValueRange rows) {
  if (rows.empty() || rows.size() == 2)
    return success();
  return op->emitOpError() << "expected the first of its rows and the one behind the last, found "
                           << rows.size() << " numbers";
}

LogicalResult AdamWUpdateOp::verify() { return checkRows(*this, getRows()); }

LogicalResult SgdUpdateOp::verify() { return checkRows(*this, getRows()); }

LogicalResult AdafactorUpdateOp::verify() {
  auto type = cast<RankedTensorType>(getParameter().getType());
  if (type.getRank() == 0)
    return emitOpError() << "expected a parameter of one dimension or more, found " << type;
  SmallVector<RankedTensorType> expected = momentTypes(type);
  if (!llvm::equal(getMoments().getTypes(), expected))
    return emitOpError() << "expected moments " << expected << ", found "
                         << getMoments().getTypes();
  return success();
}
