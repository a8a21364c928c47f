//===- BatchPlan.h - which rows a step is given -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BATCHPLAN_H
#define TRANSFORMER_RUNTIME_BATCHPLAN_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace transformer::runtime {

struct Batching {
  uint64_t seed = 0;
  int64_t epochs = 1;
  int64_t rows = 8;   // of a step, at most
  int64_t tokens = 0; // the same of its tokens, in place of its rows; 0: rows count
};

/// Batches of rows of similar length. In each epoch rows are shuffled, the rows of every 50 batches
/// sorted by length and cut into batches, and the batches shuffled.
class BatchPlan {
public:
  /// `lengths`: the tokens of each row, of which there is at least one.
  BatchPlan(std::vector<uint32_t> lengths, const Batching &batching);

  /// Of all epochs.
  int64_t steps() const { return firstSteps.back(); }

  /// The epoch of a step, 0 <= step < steps().
  int64_t epochOf(int64_t step) const;

  /// The indexes of its rows, the longest first; valid until the next call.
  const std::vector<uint32_t> &rows(int64_t step) const;

private:
  using Batches = std::vector<std::vector<uint32_t>>;
  Batches batchesOf(int64_t epoch) const;

  std::vector<uint32_t> lengths;
  Batching batching;
  size_t windowRows;
  std::vector<int64_t> firstSteps; // of each epoch, then the end of the last
  // The epoch that was asked for last.
  mutable int64_t known = -1;
  mutable Batches batches;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BATCHPLAN_H
