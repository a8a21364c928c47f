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

llvm::json::Object describeLora(LoraAttr lora);

/// What an argument of an entry point is: `transformer.state` and
/// `transformer.output` say it, else it is an input.
enum class Role { Input, State, Output };
Role roleOf(func::FuncOp entry, unsigned argument);

/// The inputs and outputs among the arguments [firstIo, firstIo + numIo) of an
/// entry point; states are `describeState`'s.
llvm::json::Object describeEntry(func::FuncOp entry, unsigned firstIo, unsigned numIo);
llvm::json::Object describeState(func::FuncOp entry, unsigned argument);

/// What a description calls an element type; nothing for one that no module has.
std::optional<llvm::StringRef> dtypeName(Type type);
llvm::json::Object describeTarget(cpu::TargetAttr target);
/// A builtin attribute as JSON: dictionaries, arrays, strings, numbers, booleans.
llvm::json::Value attributeToJson(Attribute attribute);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_DESCRIPTION_H
