//===- PromptBatch.cpp - prompts and sequences as tensors -----------------===//
#include "runtime/generate/PromptBatch.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

std::vector<int64_t> integers(const std::string &name, const Tensor &tensor) {
  std::vector<int64_t> values(size_t(tensor.count()));
  if (isFloat(tensor.dtype()) ||
      convertToInt64(tensor.dtype(), tensor.data<char>(), values.data(), tensor.count()) >= 0)
    fail("{}: expected integers, found {}", name, safetensorsName(tensor.dtype()));
  return values;
}

/// Which ids are no padding.
std::vector<int64_t> maskOf(const std::vector<int64_t> &ids, const GenerationConfig &config) {
  std::vector<int64_t> mask(ids.size(), 1);
  const std::vector<int64_t> &eos = config.eosTokenId;
  if (!config.padTokenId || std::find(eos.begin(), eos.end(), *config.padTokenId) != eos.end())
    return mask;
  std::transform(ids.begin(), ids.end(), mask.begin(),
                 [&](int64_t id) { return id != *config.padTokenId; });
  return mask;
}

} // namespace

PromptBatch::PromptBatch(TensorMap inputs, const GenerationConfig &config) {
  for (const auto &[name, tensor] : inputs)
    if (name != "input_ids" && name != "attention_mask")
      fail("unknown input \"{}\", expected input_ids, attention_mask (optional)",
           printable(name, 60));
  auto given = inputs.find("input_ids"), masked = inputs.find("attention_mask");
  if (given == inputs.end())
    fail("missing input \"input_ids\"");
  const std::vector<int64_t> &shape = given->second.shape();
  if (shape.size() != 2 || given->second.count() == 0)
    fail("input_ids: expected [batch, length], neither of them 0, found {}", shapeText(shape));
  if (masked != inputs.end() && masked->second.shape() != shape)
    fail("attention_mask: expected {}, the shape of input_ids, found {}", shapeText(shape),
         shapeText(masked->second.shape()));
  ids = integers("input_ids", given->second);
  length = shape[1];
  std::vector<int64_t> mask =
      masked == inputs.end() ? maskOf(ids, config) : integers("attention_mask", masked->second);
  for (size_t row = 0; row < size_t(shape[0]); ++row) {
    Prompt prompt;
    for (size_t at = row * size_t(length); at < (row + 1) * size_t(length); ++at) {
      if (mask[at] != 0 && mask[at] != 1)
        fail("attention_mask: row {}, column {}: expected 0 or 1, found {}", row,
             at - row * size_t(length), mask[at]);
      if (mask[at])
        prompt.tokens.push_back(ids[at]);
    }
    if (prompt.tokens.empty())
      fail("attention_mask: row {}: expected a token, found only padding", row);
    prompt.source = prompt.tokens;
    rows.push_back(std::move(prompt));
  }
}

GenerationConfig PromptBatch::withNewTokens(GenerationConfig config,
                                            std::optional<int64_t> maxPositions) const {
  config.maxNewTokens = config.maxLengthFor(length, maxPositions) - length;
  config.maxLength.reset();
  int64_t least = std::max(config.minNewTokens.value_or(0), config.minLength - length);
  config.minLength = 0;
  config.minNewTokens.reset();
  if (least > 0)
    config.minNewTokens = least;
  return config;
}

Tensor PromptBatch::sequences(const std::vector<std::vector<Hypothesis>> &results,
                              int64_t fillToken) const {
  size_t count = 0, longest = 0;
  for (size_t row = 0; row < results.size(); ++row)
    for (const Hypothesis &found : results[row]) {
      ++count;
      longest = std::max(longest, found.tokens.size() - rows[row].tokens.size());
    }
  Tensor sequences(DataType::I64, {int64_t(count), length + int64_t(longest)});
  auto *to = sequences.data<int64_t>();
  for (size_t row = 0; row < results.size(); ++row)
    for (const Hypothesis &found : results[row]) {
      auto *end = to + length + longest;
      to = std::copy_n(ids.begin() + std::ptrdiff_t(row) * length, length, to);
      to = std::copy(found.tokens.begin() + std::ptrdiff_t(rows[row].tokens.size()),
                     found.tokens.end(), to);
      to = std::fill_n(to, end - to, fillToken);
    }
  return sequences;
}

} // namespace transformer::runtime
