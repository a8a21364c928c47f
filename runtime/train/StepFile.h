//===- StepFile.h - data that is a tensor slice a step ----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STEPFILE_H
#define TRANSFORMER_RUNTIME_STEPFILE_H

#include "runtime/abi/Description.h"
#include "runtime/files/Safetensors.h"
#include "runtime/train/DataSource.h"

namespace transformer::runtime {

/// A safetensors file whose tensors, named as a model's inputs, have a first dimension of steps.
class StepFile : public DataSource {
public:
  /// Throws Error that names the file and the tensor: one that is no input, without a first
  /// dimension or with another number of steps.
  StepFile(const std::string &path, const std::vector<const InputInfo *> &inputs);

  int64_t steps() const override { return count; }
  TensorMap inputs(int64_t index) const override;

private:
  SafetensorsFile file;
  int64_t count = -1;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STEPFILE_H
