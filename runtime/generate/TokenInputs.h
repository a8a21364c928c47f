//===- TokenInputs.h - tokens as an entry point takes them ------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENINPUTS_H
#define TRANSFORMER_RUNTIME_TOKENINPUTS_H

#include "runtime/abi/Description.h"
#include "runtime/base/Tensor.h"

#include <span>
#include <string>

namespace transformer::runtime {

/// Adds `input_ids` and `attention_mask`, `[rows, longest]`, each name behind `prefix`, and
/// `position_ids` if the entry takes them: a row's go on from its element of `firstPositions`.
void addTokens(TensorMap &inputs, const EntryInfo &entry, const std::string &prefix,
               std::span<const std::span<const int64_t>> tokens,
               std::span<const int64_t> firstPositions);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENINPUTS_H
