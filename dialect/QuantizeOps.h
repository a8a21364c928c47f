//===- QuantizeOps.h - weights and rows in narrow formats -----------------===//
#ifndef DIALECT_QUANTIZEOPS_H
#define DIALECT_QUANTIZEOPS_H

#include "dialect/TransformerDialect.h"

#include "dialect/WeightFormat.h.inc"

#define GET_OP_CLASSES
#include "dialect/QuantizeOps.h.inc"

namespace mlir::transformer {

/// Inputs of a linear layer that share a scale in the format `int4`, and features of a row.
inline constexpr int64_t weightGroup = 32;

/// The numbers of a format that has no scales; null: it has some.
FloatType floatTypeOf(WeightFormat format, MLIRContext *context);

} // namespace mlir::transformer

#endif // DIALECT_QUANTIZEOPS_H
