//===- OptimizerOps.cpp - what a training step does with gradients --------===//
#include "dialect/OptimizerOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#define GET_OP_CLASSES
#include "dialect/OptimizerOps.cpp.inc"

LogicalResult AdafactorUpdateOp::verify() {
  auto type = cast<RankedTensorType>(getParameter().getType());
  SmallVector<Type> expected = {type};
  if (type.getRank() == 2)
    expected = {type.clone({type.getDimSize(0), 1}), type.clone({1, type.getDimSize(1)})};
  else if (type.getRank() != 1)
    return emitOpError() << "expected a parameter of one or two dimensions, found " << type;
  if (!llvm::equal(getMoments().getTypes(), expected))
    return emitOpError() << "expected moments " << expected << ", found "
                         << getMoments().getTypes();
  return success();
}
