//===- Initializer.h - parameters from a seed -------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_INITIALIZER_H
#define TRANSFORMER_RUNTIME_INITIALIZER_H

#include "runtime/abi/Description.h"

namespace transformer::runtime {

/// What parameters are initialised from.
struct Seed {
  uint64_t value;
};

/// Writes what `parameter`, of F32, starts with to `result`, which has its size. An element depends
/// on the seed, the parameter's name and the element's index alone: not on other parameters, not on
/// threads. Throws Error that names a parameter whose description does not say how.
void initialize(const ParameterInfo &parameter, Seed seed, float *result);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_INITIALIZER_H
