//===- StateOptions.h - the state on the command line -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STATEOPTIONS_H
#define TRANSFORMER_RUNTIME_STATEOPTIONS_H

#include "runtime/execute/Module.h"
#include "runtime/execute/State.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace transformer::runtime {

/// --state-in, --size, and where the state is saved --state-out.
struct StateOptions {
  std::string input, output;
  std::vector<std::string> sizes; // NAME=N
};

void addStateOptions(CLI::App &app, StateOptions &options, bool saves);

/// The state that a call of `entry` starts from: of a file, or zeros. Throws Error when the entry
/// has none and options ask for one, or when a size is not given.
State openState(const Module &module, const EntryInfo &entry, const StateOptions &options);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STATEOPTIONS_H
