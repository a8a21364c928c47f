//===- SampleSearch.h - one token after another -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SAMPLESEARCH_H
#define TRANSFORMER_RUNTIME_SAMPLESEARCH_H

#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Prompt.h"
#include "runtime/generate/Stopping.h"

namespace transformer::runtime {

/// The index that a number 0 <= at < 1 falls on when each has its share of `total`, the sum of
/// `weights`: never one without weight as long as there is another.
int64_t drawIndex(std::span<const float> weights, double total, double at);

/// Greedy search and sampling. A row is a sequence; those of a prompt, num_return_sequences, lie
/// together. What a row becomes depends on its prompt, the seed and its number only.
class SampleSearch {
public:
  /// The processors must outlive the object.
  SampleSearch(LogitsProcessors &processors, Stopping stopping);

  /// Starts over. `maxPositions`: see GenerationConfig::maxLengthFor. Throws Error when a prompt is
  /// empty or leaves no room.
  void begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions = {});

  int64_t rows() const { return int64_t(sequences.size()); }
  std::span<const int64_t> tokens(int64_t row) const { return sequences[size_t(row)].tokens; }

  /// Whether a row still needs scores.
  bool active(int64_t row) const { return !sequences[size_t(row)].ended; }

  /// Takes a token a row; `scores` [rows, vocabulary] are logits and are overwritten. Rows that
  /// have ended get the fill token. The result lives until the next call.
  std::span<const Step> advance(float *scores);

  bool finished() const { return open == 0; }

  /// The sequences of a prompt so far.
  std::vector<Hypothesis> results(int64_t prompt) const;

private:
  struct Sequence {
    std::vector<int64_t> tokens;
    size_t prompt;
    int64_t promptLength, maxLength;
    uint64_t number;
    bool ended = false;
  };

  int64_t choose(std::span<float> scores, const Sequence &sequence);

  LogitsProcessors &processors;
  const GenerationConfig &config;
  Stopping stopping;
  std::vector<std::vector<int64_t>> sources; // of the prompts
  std::vector<Sequence> sequences;
  std::vector<Step> steps;
  size_t open = 0; // sequences that have not ended
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SAMPLESEARCH_H
