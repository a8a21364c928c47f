//===- DataSource.h - what the steps of training are given ------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_DATASOURCE_H
#define TRANSFORMER_RUNTIME_DATASOURCE_H

#include "runtime/base/Tensor.h"

namespace transformer::runtime {

/// Data by the step: what a step is given depends on its index alone, so that a run that goes on
/// from a checkpoint gets what an unbroken one does.
class DataSource {
public:
  virtual ~DataSource() = default;

  /// How many steps there is data for.
  virtual int64_t steps() const = 0;

  /// What step `index`, counted from 0, is given. Not to be called by several threads at once.
  virtual TensorMap inputs(int64_t index) const = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_DATASOURCE_H
