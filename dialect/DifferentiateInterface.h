//===- DifferentiateInterface.h - the backward of an op -------------------===//
#ifndef DIALECT_DIFFERENTIATEINTERFACE_H
#define DIALECT_DIFFERENTIATEINTERFACE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"

#include "dialect/DifferentiateInterface.h.inc"

namespace mlir::transformer {

/// Zeros of the type and the sizes of a tensor of f32.
Value zerosLike(ImplicitLocOpBuilder &b, Value tensor);

/// Gives upstream's ops that models use their backward. The context of a module that is
/// differentiated needs it.
void registerDifferentiation(DialectRegistry &registry);

} // namespace mlir::transformer

#endif // DIALECT_DIFFERENTIATEINTERFACE_H
