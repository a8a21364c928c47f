//===- GradientOps.h - what training adds to the dialect ------------------===//
#ifndef DIALECT_GRADIENTOPS_H
#define DIALECT_GRADIENTOPS_H

#include "dialect/TransformerDialect.h"

#define GET_OP_CLASSES
#include "dialect/GradientOps.h.inc"

#endif // DIALECT_GRADIENTOPS_H
