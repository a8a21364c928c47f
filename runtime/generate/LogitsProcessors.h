//===- LogitsProcessors.h - from a model's scores to a choice's -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_LOGITSPROCESSORS_H
#define TRANSFORMER_RUNTIME_LOGITSPROCESSORS_H

#include "runtime/generate/Processors.h"
#include "runtime/generate/Warpers.h"

namespace transformer::runtime {

/// What a row of scores continues.
struct History {
  Tokens tokens; // prompt and what came after; of an encoder-decoder model the decoder's
  int64_t promptLength;
  int64_t maxLength; // the length, prompt included, at which generation ends
  Tokens source;     // see Prompt::source
};

/// All that a GenerationConfig asks to be done to scores, in the order of transformers'
/// _get_logits_processor. One thread at a time: it has memory for its work, which after the first
/// rows grows no more.
class LogitsProcessors {
public:
  /// Scores have `vocabulary` elements. Throws Error when the configuration has values that cannot
  /// be used.
  LogitsProcessors(GenerationConfig config, int64_t vocabulary);

  int64_t vocabulary() const { return size; }
  const GenerationConfig &config() const { return settings; }

  /// Changes a row of scores: logits, or with beams log probabilities.
  void apply(std::span<float> scores, const History &history);

private:
  void process(std::span<float> scores, const History &history);
  void warp(std::span<float> scores);

  GenerationConfig settings;
  int64_t size;
  SequenceBiases biases, badWords;
  std::vector<float> originals;
  WarperScratch scratch;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_LOGITSPROCESSORS_H
