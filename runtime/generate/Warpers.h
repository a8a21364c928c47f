//===- Warpers.h - filters for sampling -------------------------*- C++ -*-===//
//
// What transformers calls warpers: they decide which tokens can be drawn. A
// token that is left out has the score -infinity after it. Each is what the
// class of that name does to one row, in one to three passes over it and none
// of its allocations once the scratch has grown.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_WARPERS_H
#define TRANSFORMER_RUNTIME_WARPERS_H

#include "runtime/generate/Scores.h"

namespace transformer::runtime {

/// Memory that warpers keep from row to row.
struct WarperScratch {
  std::vector<float> probabilities, heap;
  std::vector<WeightedToken> items;
};

/// TemperatureLogitsWarper: divides.
void applyTemperature(std::span<float> scores, double temperature);

/// TopKLogitsWarper: leaves the k best, and all that equal the last of them.
void keepTopK(std::span<float> scores, int64_t k, int64_t minTokens, WarperScratch &scratch);

/// TopPLogitsWarper: leaves the fewest best tokens whose probabilities add up to `mass`.
void keepTopP(std::span<float> scores, double mass, int64_t minTokens, WarperScratch &scratch);

/// TopHLogitsWarper: of the 100 best tokens leaves the first ones, as long as their share of the
/// entropy of those 100 is no more than `share`.
void keepTopH(std::span<float> scores, double share, WarperScratch &scratch);

/// MinPLogitsWarper: leaves tokens with at least `share` of the best one's probability.
void keepMinP(std::span<float> scores, double share, int64_t minTokens, WarperScratch &scratch);

/// TypicalLogitsWarper: leaves the tokens whose information is nearest to the entropy, until their
/// probabilities add up to `mass`.
void keepTypical(std::span<float> scores, double mass, int64_t minTokens, WarperScratch &scratch);

/// EpsilonLogitsWarper: leaves tokens of probability `cutoff` or more.
void keepEpsilon(std::span<float> scores, double cutoff, int64_t minTokens, WarperScratch &scratch);

/// EtaLogitsWarper: the same with a cutoff that is less where the entropy is high.
void keepEta(std::span<float> scores, double cutoff, int64_t minTokens, WarperScratch &scratch);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_WARPERS_H
