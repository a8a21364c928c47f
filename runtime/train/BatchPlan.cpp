//===- BatchPlan.cpp - which rows a step is given -------------------------===//
#include "runtime/train/BatchPlan.h"

#include "runtime/base/Philox.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/train/Draws.h"

#include <algorithm>
#include <numeric>

namespace transformer::runtime {
namespace {

constexpr size_t windowBatches = 50;

template <typename T>
void shuffle(std::vector<T> &items, uint64_t seed, int64_t epoch, uint32_t draw) {
  for (size_t left = items.size(); left > 1; --left) {
    double place = uniform(seed, uint64_t(epoch), uint32_t(left), draw) * double(left);
    std::swap(items[left - 1], items[size_t(place)]);
  }
}

} // namespace

BatchPlan::BatchPlan(std::vector<uint32_t> rowLengths, const Batching &batching)
    : lengths(std::move(rowLengths)), batching(batching) {
  auto count = size_t(lengths.size());
  size_t rowsPerBatch = size_t(batching.rows);
  if (batching.tokens) {
    size_t tokens = std::accumulate(lengths.begin(), lengths.end(), size_t(1));
    rowsPerBatch = std::max<size_t>(1, size_t(batching.tokens) * count / tokens);
  }
  windowRows = windowBatches * rowsPerBatch;
  // How many batches so many tokens make depends on the order of the rows.
  std::vector<int64_t> steps(size_t(batching.epochs),
                             int64_t((count + rowsPerBatch - 1) / rowsPerBatch));
  if (batching.tokens)
    parallelFor(batching.epochs,
                [&](int64_t epoch) { steps[size_t(epoch)] = int64_t(batchesOf(epoch).size()); });
  firstSteps.assign(1, 0);
  for (int64_t ofEpoch : steps)
    firstSteps.push_back(firstSteps.back() + ofEpoch);
}

BatchPlan::Batches BatchPlan::batchesOf(int64_t epoch) const {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, batching.seed, epoch, draws::rowOrder);
  for (size_t begin = 0; begin < order.size(); begin += windowRows) {
    auto at = [&](size_t i) { return order.begin() + std::ptrdiff_t(std::min(i, order.size())); };
    std::stable_sort(at(begin), at(begin + windowRows),
                     [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  }
  Batches result;
  int64_t tokens = 0;
  for (uint32_t row : order) {
    tokens += lengths[row];
    bool isFull =
        result.empty() || (batching.tokens ? tokens > batching.tokens
                                           : result.back().size() == size_t(batching.rows));
    if (isFull) {
      result.emplace_back();
      tokens = lengths[row];
    }
    result.back().push_back(row);
  }
  shuffle(result, batching.seed, epoch, draws::batchOrder);
  return result;
}

int64_t BatchPlan::epochOf(int64_t step) const {
  return std::upper_bound(firstSteps.begin(), firstSteps.end(), step) - firstSteps.begin() - 1;
}

const std::vector<uint32_t> &BatchPlan::rows(int64_t step) const {
  int64_t epoch = epochOf(step);
  if (epoch != known) {
    batches = batchesOf(epoch);
    known = epoch;
  }
  return batches[size_t(step - firstSteps[size_t(epoch)])];
}

} // namespace transformer::runtime
