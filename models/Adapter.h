//===- Adapter.h - folders of low-rank adapters ---------------------------===//
#ifndef MODELS_ADAPTER_H
#define MODELS_ADAPTER_H

#include "dialect/TransformerDialect.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::transformer {

/// What PEFT's adapter_config.json says.
struct AdapterConfig {
  std::string base; // the folder of the model that is adapted
  LoraAttr lora;
};

/// Whether `path` is a folder of an adapter: adapter_config.json, and no model of its own.
bool isAdapter(llvm::StringRef path);

/// Reads that of the folder `path`; nothing and a one-line error if that fails.
std::optional<AdapterConfig> loadAdapter(llvm::StringRef path, MLIRContext &context,
                                         std::string &error);

/// The folder of the model that the adapter in `path` belongs to, once that has been loaded.
std::string baseOf(llvm::StringRef path);

} // namespace mlir::transformer

#endif // MODELS_ADAPTER_H
