//===- OptimizerOps.cpp - what a training step does with gradients --------===//
#include "dialect/OptimizerOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;

#define GET_OP_CLASSES
#include "dialect/OptimizerOps.cpp.inc"
