//===- StaysInCalls.h - what each call computes anew ------------*- C++ -*-===//
#ifndef DIALECT_STAYSINCALLS_H
#define DIALECT_STAYSINCALLS_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::transformer {

/// An op that a program computes in each call even where it reads parameters alone: its result
/// takes less time to make than to bring from memory.
template <typename ConcreteOp>
class StaysInCalls : public mlir::OpTrait::TraitBase<ConcreteOp, StaysInCalls> {};

/// A discardable attribute that says so of an op of another dialect.
inline constexpr llvm::StringLiteral kStaysInCallsAttr = "transformer.stays_in_calls";

} // namespace mlir::transformer

#endif // DIALECT_STAYSINCALLS_H
