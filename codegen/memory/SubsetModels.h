//===- SubsetModels.h - which slices of a tensor are the same --------------===//
#ifndef CODEGEN_MEMORY_SUBSETMODELS_H
#define CODEGEN_MEMORY_SUBSETMODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::transformer {

/// Two slices or vector transfers are of the same part of a tensor where their offsets, sizes and
/// strides are the same constants or values. Upstream's models prove it by solving for the values'
/// bounds, a tenth of the time that a model takes to compile; behind CSE that finds no more here.
/// That two are disjoint is proved as upstream does it. The first model registered for an op
/// counts: call this before registerAllDialects.
void registerSubsetModels(DialectRegistry &registry);

} // namespace mlir::transformer

#endif // CODEGEN_MEMORY_SUBSETMODELS_H
