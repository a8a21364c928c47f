//===- Evaluate.h - the interpreter's interface to ops ----------*- C++ -*-===//
#ifndef DIALECT_REFERENCE_EVALUATE_H
#define DIALECT_REFERENCE_EVALUATE_H

#include "dialect/reference/Frame.h"
#include "mlir/IR/OpDefinition.h"

#include "dialect/reference/EvaluateInterface.h.inc"

#endif // DIALECT_REFERENCE_EVALUATE_H
