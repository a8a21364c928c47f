//===- SampleSearch.cpp - one token after another -------------------------===//
#include "runtime/generate/SampleSearch.h"

#include "runtime/base/Error.h"
#include "runtime/base/Philox.h"

namespace transformer::runtime {

int64_t drawIndex(std::span<const float> weights, double total, double at) {
  double left = at * total;
  int64_t last = 0; // rounding may leave a rest behind the last weight
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0))
      continue;
    last = int64_t(i);
    left -= weights[i];
    if (left < 0)
      break;
  }
  return last;
}

SampleSearch::SampleSearch(LogitsProcessors &processors, Stopping stopping)
    : processors(processors), config(processors.config()), stopping(std::move(stopping)) {}

void SampleSearch::begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions) {
  sources.clear();
  sequences.clear();
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Prompt &prompt = prompts[i];
    auto length = int64_t(prompt.tokens.size());
    if (length == 0)
      fail("prompt {}: expected a token, found none", i + 1);
    sources.push_back(prompt.source);
    for (int64_t j = 0; j < config.numReturnSequences; ++j) {
      uint64_t number = prompt.number.value_or(i) * uint64_t(config.numReturnSequences) + j;
      int64_t maxLength = maxLengthOf(prompt, config, maxPositions);
      sequences.push_back({prompt.tokens, i, length, maxLength, number});
      sequences.back().tokens.reserve(size_t(std::min(maxLength, length + usualNewTokens)));
    }
  }
  open = sequences.size();
  steps.resize(sequences.size());
}

int64_t SampleSearch::choose(std::span<float> scores, const Sequence &sequence) {
  processors.apply(scores, {sequence.tokens, sequence.promptLength, sequence.maxLength,
                            sources[sequence.prompt]});
  if (!config.doSample)
    return argmax(scores);
  softmax(scores, scores);
  double total = 0;
  for (float probability : scores)
    total += probability;
  auto position = uint32_t(int64_t(sequence.tokens.size()) - sequence.promptLength);
  return drawIndex(scores, total, uniform(config.seed, sequence.number, position));
}

std::span<const Step> SampleSearch::advance(float *scores) {
  auto width = size_t(processors.vocabulary());
  for (size_t row = 0; row < sequences.size(); ++row) {
    Sequence &sequence = sequences[row];
    steps[row] = {int64_t(row), config.fillToken()};
    if (sequence.ended)
      continue;
    steps[row].token = choose({scores + row * width, width}, sequence);
    sequence.tokens.push_back(steps[row].token);
    sequence.ended = stopping(sequence.tokens, sequence.maxLength);
    open -= sequence.ended;
  }
  return steps;
}

std::vector<Hypothesis> SampleSearch::results(int64_t prompt) const {
  std::vector<Hypothesis> found;
  for (const Sequence &sequence : sequences)
    if (sequence.prompt == size_t(prompt))
      found.push_back({sequence.tokens});
  return found;
}

} // namespace transformer::runtime
