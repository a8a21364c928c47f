//===- QuantizeOps.cpp - weights and rows in narrow formats ---------------===//
#include "dialect/QuantizeOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#include "dialect/WeightFormat.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/QuantizeOps.cpp.inc"
