//===- PrefetchWeights.h - fetch what the next task packs -------*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H
#define CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::transformer {

/// What makes the panel that is read, if that is in its task; null if not.
cpu::PackWeightOp packOf(vector::TransferReadOp panel);

/// Tiles share what the next task, which the same thread mostly takes, will pack: in each turn of
/// `loop`, which goes through k, some lines of the weight. Fetched all at once most were dropped.
void fetchNextWeight(scf::ForOp loop, vector::TransferReadOp panel, cpu::PackWeightOp pack,
                     cpu::TargetAttr target);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_PREFETCHWEIGHTS_H
