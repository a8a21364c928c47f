//===- Lora.h - what the passes on low-rank adapters share ------*- C++ -*-===//
#ifndef PASSES_LORA_H
#define PASSES_LORA_H

#include "dialect/ParameterOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::transformer {

/// The module's adapters; null where it has none.
LoraAttr loraOf(ModuleOp module);

/// The two matrices of an adapter, `[rank, in]` and `[out, rank]`.
struct Adapter {
  ParameterOp down, up;
};

/// Those of the weight `parameter`, `in_out` or not, declared behind it the first time. They have
/// PEFT's names and initial values: of A Kaiming's uniform ones, of B zeros.
Adapter declareAdapter(SymbolTable &symbols, ParameterOp parameter, WeightLayout layout,
                       int64_t rank);

/// `alpha / rank`, of all elements of a tensor like `matrix`, times it.
Value scaleAdapter(OpBuilder &b, Location loc, LoraAttr lora, Value matrix);

/// What reads a weight, in its function or one that it is passed to.
struct WeightReaders {
  std::optional<WeightLayout> layout; // in which linear layers read it, if some do
  Operation *other = nullptr;         // something else, if there is any

  void add(const SymbolTable &symbols, Value weight);
};

/// Fails when a target is the weight of a linear layer and something else, a tied table: an adapter
/// would be of the layer alone. Names the parameter and what else reads it.
LogicalResult checkReaders(ModuleOp module, LoraAttr lora);

/// Fails when a target has no adapter, naming it and the modules that could have been meant.
LogicalResult checkTargets(ModuleOp module, LoraAttr lora);

} // namespace mlir::transformer

#endif // PASSES_LORA_H
