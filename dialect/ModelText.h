//===- ModelText.h - reading models written as MLIR -----------------------===//
#ifndef DIALECT_MODELTEXT_H
#define DIALECT_MODELTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlir::transformer {

/// How deep brackets and regions may lie in each other. Compiled models have some twenty levels;
/// MLIR's parser, and passes on what it has parsed, call themselves for every level.
constexpr unsigned maxNesting = 256;

/// Fails with a diagnostic when text would take the parser deeper than maxNesting: by brackets, by
/// names of attributes and types that stand for others, or by an affine map or set longer than any
/// that a program needs. To be asked before text is parsed. Bytecode is not text and passes: its
/// reader does not call itself.
LogicalResult checkNesting(llvm::MemoryBufferRef text, MLIRContext *context);

/// Parses a file ("-": standard input) of text or bytecode. Null after a diagnostic, also when its
/// brackets or regions are nested deeper than maxNesting.
OwningOpRef<ModuleOp> parseModel(llvm::StringRef path, MLIRContext *context);

} // namespace mlir::transformer

#endif // DIALECT_MODELTEXT_H
