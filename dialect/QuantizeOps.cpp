//===- QuantizeOps.cpp - weights and rows in narrow formats ---------------===//
#include "dialect/QuantizeOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#include "dialect/WeightFormat.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/QuantizeOps.cpp.inc"

LogicalResult QuantizeRowsOp::verify() {
  if (getFormat() == WeightFormat::Int4)
    return emitOpError("expected bf16 or int8, found int4");
  return success();
}
