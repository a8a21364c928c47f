//===- BenchGeneration.h - timing generation --------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BENCHGENERATION_H
#define TRANSFORMER_RUNTIME_BENCHGENERATION_H

#include "runtime/execute/Program.h"

#include <vector>

namespace transformer::runtime {

/// Medians over runs, each of which continues all prompts greedily.
struct GenerationTimes {
  double prefillMs;              // from the prompts to the first token of each
  double decodeTokensPerSecond;  // of all rows together, the first ones not counted
  double medianMs, minMs, maxMs; // of a whole run
  int64_t tokens;                // that a run generates
};

/// Continues random prompts of these lengths by `newTokens` (>= 2) each, whatever comes out, after
/// a run to warm up `repeat` (>= 1) times. Throws Error when the program cannot generate or has not
/// as many positions.
GenerationTimes benchGeneration(Program &program, const std::vector<int64_t> &lengths,
                                int64_t newTokens, int repeat);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BENCHGENERATION_H
