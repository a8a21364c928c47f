//===- TokenInputs.cpp - tokens as an entry point takes them --------------===//
#include "runtime/generate/TokenInputs.h"

#include <algorithm>

namespace transformer::runtime {

void addTokens(TensorMap &inputs, const EntryInfo &entry, const std::string &prefix,
               std::span<const std::span<const int64_t>> tokens,
               std::span<const int64_t> firstPositions) {
  size_t longest = 0;
  for (std::span<const int64_t> row : tokens)
    longest = std::max(longest, row.size());
  auto grid = [&](auto valueOf) {
    Tensor tensor(DataType::I64, {int64_t(tokens.size()), int64_t(longest)});
    auto *to = tensor.data<int64_t>();
    for (size_t row = 0; row < tokens.size(); ++row, to += longest)
      for (size_t column = 0; column < longest; ++column)
        to[column] = column < tokens[row].size() ? valueOf(row, column) : 0;
    return tensor;
  };
  inputs.emplace(prefix + "input_ids",
                 grid([&](size_t row, size_t column) { return tokens[row][column]; }));
  inputs.emplace(prefix + "attention_mask", grid([](size_t, size_t) { return int64_t(1); }));
  if (std::string name = prefix + "position_ids"; entry.findInput(name))
    inputs.emplace(name, grid([&](size_t row, size_t column) {
                     return firstPositions[row] + int64_t(column);
                   }));
}

} // namespace transformer::runtime
