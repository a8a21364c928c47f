//===- Search.h - how sequences are found -----------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SEARCH_H
#define TRANSFORMER_RUNTIME_SEARCH_H

#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/Prompt.h"

#include <span>

namespace transformer::runtime {

/// Rows are sequences that a model continues; those of a prompt lie together. A search's user asks
/// the model for the scores behind each row, hands them to advance(), and is told which row each
/// row continues now, and with what token: a cache of keys and values is reordered by the first and
/// the model is fed the second.
class Search {
public:
  virtual ~Search() = default;

  /// Starts over. `maxPositions`: see GenerationConfig::maxLengthFor. Throws Error when a prompt is
  /// empty or leaves no room.
  virtual void begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions = {}) = 0;

  virtual int64_t rows() const = 0;
  virtual std::span<const int64_t> tokens(int64_t row) const = 0;

  /// Whether a row still needs scores.
  virtual bool active(int64_t row) const = 0;

  /// Goes on by a token; `scores` [rows, vocabulary] are logits and are overwritten. Rows that have
  /// ended get the fill token. The result lives until the next call.
  virtual std::span<const Step> advance(float *scores) = 0;

  virtual bool finished() const = 0;

  /// What became of a prompt so far, the best first.
  virtual std::vector<Hypothesis> results(int64_t prompt) const = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SEARCH_H
