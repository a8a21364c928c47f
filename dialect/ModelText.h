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
/// that a program needs; and when it is not text but bytecode, of which damaged files have been
/// seen to write to memory that is not theirs. To be asked before anything is parsed.
LogicalResult checkText(llvm::MemoryBufferRef text, MLIRContext *context);

/// Parses a file ("-": standard input). Null after a diagnostic, also where checkText() fails.
OwningOpRef<ModuleOp> parseModel(llvm::StringRef path, MLIRContext *context);

} // namespace mlir::transformer

#endif // DIALECT_MODELTEXT_H
