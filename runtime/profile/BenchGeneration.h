//===- BenchGeneration.h - timing generation --------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BENCHGENERATION_H
#define TRANSFORMER_RUNTIME_BENCHGENERATION_H

#include "runtime/generate/Batcher.h"

#include <vector>

namespace transformer::runtime {

/// Random prompts and what is asked for.
struct GenerationLoad {
  std::vector<int64_t> lengths;   // a prompt each
  std::vector<int64_t> newTokens; // of each prompt; the last for all that follow
  int64_t numBeams = 1;
  BatchLimits limits;
};

/// Medians over runs, each of which continues all prompts, whatever comes out.
struct GenerationTimes {
  double medianMs = 0, minMs = 0, maxMs = 0; // of a whole run
  int64_t tokens = 0;                        // of the sequences that a run gives
  // Not with beams, of which no token is certain before the end:
  double prefillMs = 0;             // from the prompts to the first token of each
  double decodeTokensPerSecond = 0; // of all rows together, from then on
  std::vector<double> firstMs;      // to the first token of each prompt
};

/// Times `repeat` (>= 1) runs after one to warm up. Throws Error when the program cannot generate
/// or has not as many positions.
GenerationTimes benchGeneration(Program &program, const GenerationLoad &load, int repeat);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BENCHGENERATION_H
