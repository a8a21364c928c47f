//===- Prompt.h - what a search gets and gives ------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PROMPT_H
#define TRANSFORMER_RUNTIME_PROMPT_H

#include "runtime/base/Tensor.h"
#include "runtime/generate/GenerationConfig.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace transformer::runtime {

/// For so many tokens a search takes memory at once.
constexpr int64_t usualNewTokens = 1024;

struct Prompt {
  std::vector<int64_t> tokens; // that are continued: at least one; no padding
  /// The encoder's input, for a decoder alone the prompt itself; empty where an encoder has no
  /// tokens. encoder_repetition_penalty and encoder_no_repeat_ngram_size look at it.
  std::vector<int64_t> source = {};
  /// Which random numbers it gets; of its own when none is given: its place among the prompts.
  std::optional<uint64_t> number = {};
  /// Fewer new tokens than the configuration says.
  std::optional<int64_t> maxNewTokens = {};
  /// Of the source's tokens, where the model has positions: from 0 on if none are given.
  std::vector<int64_t> sourcePositions = {};
  /// The encoder's input where it is no tokens: a row of it, `[1, ...]`.
  std::shared_ptr<const Tensor> features = {};
};

/// The length, prompt included, at which a prompt's sequences end; see
/// GenerationConfig::maxLengthFor.
inline int64_t maxLengthOf(const Prompt &prompt, const GenerationConfig &config,
                           std::optional<int64_t> maxPositions) {
  auto length = int64_t(prompt.tokens.size());
  int64_t most = config.maxLengthFor(length, maxPositions);
  return prompt.maxNewTokens ? std::min(most, length + *prompt.maxNewTokens) : most;
}

/// How a row goes on.
struct Step {
  int64_t parent; // the row whose tokens it has
  int64_t token;  // after which comes this one
};

/// A sequence that came out.
struct Hypothesis {
  std::vector<int64_t> tokens; // with the prompt and the token that ended it, without padding
  float score = 0;             // of beams: log probability / length ^ length_penalty
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROMPT_H
