//===- QuantizeOps.cpp - weights and rows in narrow formats ---------------===//
#include "dialect/QuantizeOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#include "dialect/WeightFormat.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/QuantizeOps.cpp.inc"

FloatType mlir::transformer::floatTypeOf(WeightFormat format, MLIRContext *context) {
  if (format == WeightFormat::Bf16)
    return BFloat16Type::get(context);
  if (format == WeightFormat::F16)
    return Float16Type::get(context);
  if (format == WeightFormat::Tf32)
    return FloatTF32Type::get(context);
  return FloatType();
}

LogicalResult QuantizeRowsOp::verify() {
  if (getFormat() == WeightFormat::Int4)
    return emitOpError("expected bf16, f16, tf32 or int8, found int4");
  return success();
}
