//===- RowWise.h - ops that know no other row -------------------*- C++ -*-===//
#ifndef DIALECT_ROWWISE_H
#define DIALECT_ROWWISE_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::transformer {

/// Row t of every result depends on row t of the operands whose number of rows is dynamic, and on
/// operands of static shape. Elementwise ops have this without saying so.
template <typename ConcreteOp>
class RowWise : public mlir::OpTrait::TraitBase<ConcreteOp, RowWise> {};

/// Whether an op is row-wise, by the trait or as an elementwise op.
inline bool isRowWise(Operation *op) {
  return op->hasTrait<RowWise>() || mlir::OpTrait::hasElementwiseMappableTraits(op);
}

} // namespace mlir::transformer

#endif // DIALECT_ROWWISE_H
