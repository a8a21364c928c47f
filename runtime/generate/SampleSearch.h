//===- SampleSearch.h - one token after another -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SAMPLESEARCH_H
#define TRANSFORMER_RUNTIME_SAMPLESEARCH_H

#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Search.h"
#include "runtime/generate/Stopping.h"

namespace transformer::runtime {

/// The index that a number 0 <= at < 1 falls on when each has its share of `total`, the sum of
/// `weights`: never one without weight as long as there is another.
int64_t drawIndex(std::span<const float> weights, double total, double at);

/// Greedy search and sampling. A row is a sequence; those of a prompt, num_return_sequences, lie
/// together. What a row becomes depends on its prompt, the seed and its number only.
class SampleSearch : public Search {
public:
  /// The processors must outlive the object.
  SampleSearch(LogitsProcessors &processors, Stopping stopping);

  void begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions = {}) override;
  int64_t rows() const override { return int64_t(sequences.size()); }
  std::span<const int64_t> tokens(int64_t row) const override {
    return sequences[size_t(row)].tokens;
  }
  bool active(int64_t row) const override { return !sequences[size_t(row)].ended; }
  std::span<const Step> advance(float *scores) override;
  bool finished() const override { return open == 0; }
  std::vector<Hypothesis> results(int64_t prompt) const override;

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
