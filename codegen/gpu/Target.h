//===- Target.h - what a GPU has, and what was chosen for it ----*- C++ -*-===//
#ifndef CODEGEN_GPU_TARGET_H
#define CODEGEN_GPU_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::transformer {

/// A GPU's numbers; tiles follow from them.
struct GpuTarget {
  llvm::StringRef arch;
  llvm::StringRef features;  // the oldest PTX that knows it
  int64_t sharedMemoryBytes; // of a block, at most

  /// Attention. A warp has four times `rowsOfThread` rows of a tile.
  int64_t attentionWarps = 4;
  int64_t attentionRowsOfThread =
      4;                         // fewer where they need more registers or memory than there are
  int64_t attentionKeys = 32;    // of a tile, a multiple of 32
  int64_t attentionNumbers = 64; // that a thread may sum at once in a tile's rows
  /// Keys whose softmax is made alone before it is joined with that of those before them: what a
  /// block takes of a sequence that has one new token.
  int64_t attentionSpan = 128;
};

/// Null: no such architecture.
const GpuTarget *findGpuTarget(llvm::StringRef arch);
/// The one that the module's code is for; null: it is for none.
const GpuTarget *gpuTargetOf(ModuleOp module);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_TARGET_H
