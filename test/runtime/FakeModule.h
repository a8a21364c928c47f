//===- FakeModule.h - a module written by hand ------------------*- C++ -*-===//
//
// Parameters: table [3, 2] (alias model.table) and bias [2]. Prepared: shifted
// [2, 3] = transposed table + bias, by function 1 through its arena, and
// steps [4] = 0, 10, 20, 30, by function 2 without sources. The entry forward:
// last_hidden_state[b, s, k] = mask * (shifted[k, id] + steps[position]).
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_TEST_RUNTIME_FAKEMODULE_H
#define TRANSFORMER_TEST_RUNTIME_FAKEMODULE_H

#include "runtime/execute/Program.h"

#include <span>
#include <string>

namespace transformer::runtime {

/// A module of these functions; `description`, of which the last `tokenizerSize` bytes are a
/// tokenizer, and the functions must outlive it.
tr_module moduleOf(const std::string &description, std::span<const tr_function> functions,
                   size_t tokenizerSize = 0);

/// The fake's description.
extern const char *const fakeDescription;

/// The fake with its own or another description.
tr_module fakeModule(const std::string &description, size_t tokenizerSize = 0);
const tr_module &fakeModule();

/// Its weights: table 1..6, bias 100, 200.
TensorMap fakeWeights();

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_FAKEMODULE_H
