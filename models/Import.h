//===- Import.h - from a model definition to the transformer dialect ------===//
#ifndef MODELS_IMPORT_H
#define MODELS_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::transformer {

/// Makes the module of a checkpoint directory (config.json and, if there, the
/// header of model.safetensors), of a config.json, or of the folder of an adapter as
/// PEFT writes it (adapter_config.json): parameters under the
/// checkpoint's names, a private function for each kind of layer, and the entry
/// point `forward` with Hugging Face's input and output names.
///
/// On failure `error` is one line that names file and field, what was expected
/// and what was found.
FailureOr<OwningOpRef<ModuleOp>> importModel(llvm::StringRef path, MLIRContext &context,
                                             std::string &error);

/// Registers the dialects that imported modules use.
void registerImportDialects(DialectRegistry &registry);

/// Flags that print an imported module with the model's own names for values.
OpPrintingFlags importPrintingFlags();

} // namespace mlir::transformer

#endif // MODELS_IMPORT_H
