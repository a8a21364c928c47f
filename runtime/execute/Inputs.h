//===- Inputs.h - from what a user gives to what an entry takes -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_INPUTS_H
#define TRANSFORMER_RUNTIME_INPUTS_H

#include "runtime/execute/Program.h"

namespace transformer::runtime {

/// Checks the names, types, shapes and every value of `given`, converts them to the entry's types,
/// makes the inputs that are missing from their defaults and allocates the outputs. Throws Error
/// that names the input, what was expected and what was found. `state`, null where the entry has
/// none, belongs to `description`.
Call prepareCall(const EntryInfo &entry, TensorMap given, const Description &description = {},
                 State *state = nullptr);

/// The inputs that an entry takes, for messages: "input_ids, attention_mask (optional)".
std::string inputNames(const EntryInfo &entry);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_INPUTS_H
