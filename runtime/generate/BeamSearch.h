//===- BeamSearch.h - several continuations at a time -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BEAMSEARCH_H
#define TRANSFORMER_RUNTIME_BEAMSEARCH_H

#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Prompt.h"
#include "runtime/generate/Stopping.h"
#include "runtime/generate/TopK.h"

namespace transformer::runtime {

/// Beam search as transformers' _beam_search, and with do_sample its beam sampling. A row is a
/// beam; the num_beams of a prompt lie together.
///
/// A prompt ends when its own search is over, as if it were alone: in transformers it goes on as
/// long as another of the batch does, which changes its result only where all of its candidates had
/// ended at once.
class BeamSearch {
public:
  /// The processors must outlive the object. Throws Error when there are too few tokens for so many
  /// beams.
  BeamSearch(LogitsProcessors &processors, Stopping stopping);

  /// Starts over. `maxPositions`: see GenerationConfig::maxLengthFor. Throws Error when a prompt is
  /// empty or leaves no room.
  void begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions = {});

  int64_t rows() const { return int64_t(searches.size()) * config.numBeams; }
  std::span<const int64_t> tokens(int64_t row) const;

  /// Whether a row still needs scores.
  bool active(int64_t row) const { return !searches[size_t(row / config.numBeams)].done; }

  /// Goes on by a token; `scores` [rows, vocabulary] are logits and are overwritten. Rows of
  /// prompts that are done get the fill token. The result lives until the next call.
  std::span<const Step> advance(float *scores);

  bool finished() const { return open == 0; }

  /// The num_return_sequences best sequences of a prompt, the best first.
  std::vector<Hypothesis> results(int64_t prompt) const;

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
  struct Search {
    std::vector<int64_t> source;
    int64_t promptLength, maxLength;
    uint64_t number;
    std::vector<Beam> running, finished;
    bool improvable = true; // what runs may become better than what is finished
    bool done = false;
  };

  void score(Search &search, std::span<float> scores);
  void findCandidates(std::span<const float> scores);
  void drawCandidates(Search &search, std::span<float> scores);
  void keepFinished(Search &search);
  void keepRunning(Search &search, int64_t firstRow);
  void checkDone(Search &search);

  LogitsProcessors &processors;
  const GenerationConfig &config;
  Stopping stopping;
  size_t numBeams, numCandidates;
  std::vector<Search> searches;
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
