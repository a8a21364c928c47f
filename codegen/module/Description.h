//===- Description.h - a module's description of itself -------------------===//
#ifndef CODEGEN_MODULE_DESCRIPTION_H
#define CODEGEN_MODULE_DESCRIPTION_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::transformer {

/// Writes the parts of docs/module-abi.md's JSON that the module's ops hold.
llvm::json::Array describeParameters(ModuleOp module);
/// The inputs and outputs of an entry point whose first `numIo` arguments after
/// `firstIo` are inputs, then outputs.
llvm::json::Object describeEntry(func::FuncOp entry, unsigned firstIo, unsigned numIo);
llvm::json::Object describeTarget(cpu::TargetAttr target);
/// A builtin attribute as JSON: dictionaries, arrays, strings, numbers, booleans.
llvm::json::Value attributeToJson(Attribute attribute);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_DESCRIPTION_H
