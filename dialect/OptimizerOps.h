//===- OptimizerOps.h - what a training step does with gradients ----------===//
#ifndef DIALECT_OPTIMIZEROPS_H
#define DIALECT_OPTIMIZEROPS_H

#include "dialect/TransformerDialect.h"

#define GET_OP_CLASSES
#include "dialect/OptimizerOps.h.inc"

#endif // DIALECT_OPTIMIZEROPS_H
