//===- Passes.h - dialect to dialect --------------------------------------===//
//
// Passes.td is the manual; Pipelines.h registers the passes.
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir::transformer {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

} // namespace mlir::transformer

#endif // PASSES_PASSES_H
