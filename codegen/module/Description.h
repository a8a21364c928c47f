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

/// Attribute of an entry point's argument: it is the host's copy of the input of that number, whose
/// values sizes depend on, of a module whose other tensors lie on a device.
inline constexpr llvm::StringLiteral kHostInputAttr = "transformer.host_input";

/// What an argument of an entry point is: `transformer.state`, `transformer.output` and
/// kHostInputAttr say it, else it is an input.
enum class Role { Input, State, Output, HostInput };
Role roleOf(func::FuncOp entry, unsigned argument);

/// The inputs, outputs and the host's copies among the arguments [firstIo, firstIo + numIo) of an
/// entry point; states are `describeState`'s.
llvm::json::Object describeEntry(func::FuncOp entry, unsigned firstIo, unsigned numIo);
llvm::json::Object describeState(func::FuncOp entry, unsigned argument);

/// What a description calls an element type; nothing for one that no module has.
std::optional<llvm::StringRef> dtypeName(Type type);
/// The target of the host's code; `deviceArch` is that of a GPU's, or empty. Matrix registers,
/// which not every system gives to programs, are asked for where the module has code for them.
llvm::json::Object describeTarget(ModuleOp module, cpu::TargetAttr target,
                                  llvm::StringRef deviceArch);
/// A builtin attribute as JSON: dictionaries, arrays, strings, numbers, booleans.
llvm::json::Value attributeToJson(Attribute attribute);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_DESCRIPTION_H
