//===- BeamSearch.h - several continuations at a time -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BEAMSEARCH_H
#define TRANSFORMER_RUNTIME_BEAMSEARCH_H

#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Search.h"
#include "runtime/generate/Stopping.h"
#include "runtime/generate/TopK.h"

namespace transformer::runtime {

/// Beam search as transformers' _beam_search, and with do_sample its beam sampling. A row is a
/// beam; the num_beams of a prompt lie together.
///
/// A prompt ends when its own search is over, as if it were alone: in transformers it goes on as
/// long as another of the batch does, which changes its result only where all of its candidates had
/// ended at once.
class BeamSearch : public Search {
public:
  /// The processors must outlive the object. Throws Error when there are too few tokens for so many
  /// beams.
  BeamSearch(LogitsProcessors &processors, Stopping stopping);

  void begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions = {}) override;
  int64_t rows() const override { return int64_t(searches.size()) * config.numBeams; }
  std::span<const int64_t> tokens(int64_t row) const override;
  bool active(int64_t row) const override { return !searches[size_t(row / config.numBeams)].done; }
  std::span<const Step> advance(float *scores) override;
  bool finished() const override { return open == 0; }
  /// The num_return_sequences best sequences.
  std::vector<Hypothesis> results(int64_t prompt) const override;

private:
  struct Beam {
    std::vector<int64_t> tokens;
    float score;
    bool finished = false;
  };
  /// A way in which a beam may go on.
  struct Candidate {
    float score; // log probability of all tokens
    size_t parent;
    int64_t token;
    bool ends = false;
  };
  /// The search of one prompt.
  struct One {
    std::vector<int64_t> source;
    int64_t promptLength, maxLength;
    uint64_t number;
    std::vector<Beam> running, finished;
    bool improvable = true; // what runs may become better than what is finished
    bool done = false;
  };

  void score(One &search, std::span<float> scores);
  void findCandidates(std::span<const float> scores);
  void drawCandidates(One &search, std::span<float> scores);
  void keepFinished(One &search);
  void keepRunning(One &search, int64_t firstRow);
  void checkDone(One &search);

  LogitsProcessors &processors;
  const GenerationConfig &config;
  Stopping stopping;
  size_t numBeams, numCandidates;
  std::vector<One> searches;
  std::vector<Step> steps;
  size_t open = 0; // searches that are not done
  // For the work on one search.
  std::vector<Candidate> candidates;
  std::vector<Beam> nextBeams;
  std::vector<float> probabilities, ranks;
  TopK topK;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BEAMSEARCH_H
