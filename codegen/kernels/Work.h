//===- Work.h - what a parallel loop does, for profiles -------------------===//
#ifndef CODEGEN_KERNELS_WORK_H
#define CODEGEN_KERNELS_WORK_H

#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::transformer {

/// Attribute of an op that becomes a parallel loop: its work, as workAttr()
/// makes it.
inline constexpr llvm::StringLiteral kWorkAttr = "transformer.work";

/// Something that is counted when a loop starts, and what one of it costs.
struct Amount {
  std::string name; // "tokens", "pairs"
  int64_t flops = 0;
  int64_t bytes = 0; // of tensors, read and written, each counted once
};

/// What a parallel loop does. `docs/module-abi.md` says how profiles use it.
struct Work {
  std::string label; // "linear 768x3072 gelu"
  std::string sizes; // those that are static: "K=768 N=3072"
  SmallVector<Amount> amounts;
  int64_t fixedBytes = 0; // whatever the amounts are: weights
  std::string layer = {}; // where the work's own parameters tell it
};

/// The attributes of a `transformer_kernel.work` for `work`.
DictionaryAttr workAttr(MLIRContext *context, const Work &work);

/// Puts a `transformer_kernel.work` of these attributes at the start of a
/// loop; `amounts` (index) are defined outside.
void setWork(OpBuilder &b, scf::ForallOp loop, DictionaryAttr work, ValueRange amounts);

/// The layer whose parameter `value` is or is made from: its name without the
/// last part. Empty inside layer functions, which get parameters as arguments.
std::string layerOfParameter(Value value);

} // namespace mlir::transformer

#endif // CODEGEN_KERNELS_WORK_H
