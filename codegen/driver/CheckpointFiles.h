//===- CheckpointFiles.h - what travels with a program ----------*- C++ -*-===//
#ifndef CODEGEN_DRIVER_CHECKPOINTFILES_H
#define CODEGEN_DRIVER_CHECKPOINTFILES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::transformer {

/// Gives the module the text of the checkpoint's tokenizer and, if it has a `step`, of what says
/// how it generates, as attributes that become fields of the description (docs/module-abi.md).
/// Nothing where `directory` is none, or has no such file.
void attachCheckpointFiles(ModuleOp module, llvm::StringRef directory);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_CHECKPOINTFILES_H
