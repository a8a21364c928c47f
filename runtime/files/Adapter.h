//===- Adapter.h - folders of low-rank adapters -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_ADAPTER_H
#define TRANSFORMER_RUNTIME_ADAPTER_H

#include "runtime/abi/Description.h"

#include <string>

namespace transformer::runtime {

/// PEFT's names of an adapter's files.
constexpr const char *adapterWeights = "adapter_model.safetensors";
constexpr const char *adapterConfig = "adapter_config.json";

/// Whether `path` is a folder of adapters, without a model of its own.
bool isAdapter(const std::string &path);

/// The folder of the model that the adapters in the folder `path` belong to. Throws Error that
/// names the file.
std::string adaptedFolder(const std::string &path);

/// Whether a parameter of that name is one of an adapter's two matrices.
bool isOfAdapter(const std::string &parameter);

/// The text of adapter_config.json for adapters of the model in the folder `base`. `isInOut`:
/// whether weights are `[in, out]`, as of Conv1D.
std::string adapterConfigText(const LoraInfo &lora, const std::string &base, bool isInOut);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ADAPTER_H
