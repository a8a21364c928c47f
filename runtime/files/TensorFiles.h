//===- TensorFiles.h - --inputs and --outputs -------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TENSORFILES_H
#define TRANSFORMER_RUNTIME_TENSORFILES_H

#include "runtime/base/Tensor.h"

#include <string>
#include <vector>

namespace transformer::runtime {

/// Reads tensors from `specs`: a safetensors file with any number of them, or name=FILE.npy for
/// one. Throws Error when a name comes twice.
TensorMap readTensors(const std::vector<std::string> &specs);

/// Writes tensors to `specs`: a safetensors file takes all, name=FILE.npy the one of that name.
/// Throws Error before anything is written when a name is not there.
void writeTensors(const std::vector<std::string> &specs, const TensorMap &tensors);

/// Throws Error when a spec is malformed or names a tensor that is not among `names`; to be called
/// before the work that makes the outputs.
void checkOutputSpecs(const std::vector<std::string> &specs, const std::vector<std::string> &names);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TENSORFILES_H
