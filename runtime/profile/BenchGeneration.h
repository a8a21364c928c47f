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
  BatchLimits limits;
};

/// Medians over runs, each of which continues all prompts greedily, whatever comes out.
struct GenerationTimes {
  double prefillMs = 0;                      // from the prompts to the first token of each
  double decodeTokensPerSecond = 0;          // of all rows together, from then on
  double medianMs = 0, minMs = 0, maxMs = 0; // of a whole run
  int64_t tokens = 0;                        // that a run generates
  std::vector<double> firstMs;               // to the first token of each prompt
};

/// Times `repeat` (>= 1) runs after one to warm up. Throws Error when the program cannot generate
/// or has not as many positions.
GenerationTimes benchGeneration(Program &program, const GenerationLoad &load, int repeat);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BENCHGENERATION_H
