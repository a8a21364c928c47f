//===- Bench.h - timing an entry point --------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BENCH_H
#define TRANSFORMER_RUNTIME_BENCH_H

#include "runtime/execute/Program.h"

#include <vector>

namespace transformer::runtime {

/// Inputs for one row a length, padded to the longest: ids from a generator with a fixed seed,
/// masks that say what is padding. Every input of the entry gets these lengths.
TensorMap randomInputs(const EntryInfo &entry, const std::vector<int64_t> &lengths);

/// Unmasked tokens of the entry's first mask (all elements of the first input without one).
int64_t countTokens(const Call &call);

/// Floating point operations of a call by the description's formula; 0 when it has none.
double countFlops(const Call &call);

/// The middle of at least one time, the mean of both where there are two.
double median(std::vector<double> times);

struct BenchResult {
  double medianMs, minMs, maxMs;
  int64_t tokens;
  double flops;  // floating point operations of a run
  double gflops; // 1e9 of them a second at the median
};

/// Runs `call` twice to warm up, then `repeat` (>= 1) times.
BenchResult bench(Program &program, Call &call, int repeat);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BENCH_H
