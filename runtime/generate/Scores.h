//===- Scores.h - arithmetic on a row of scores -----------------*- C++ -*-===//
//
// In float32 where torch has float32, so that thresholds fall where they fall
// in transformers; sums are made in double.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_SCORES_H
#define TRANSFORMER_RUNTIME_SCORES_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace transformer::runtime {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// The largest; -infinity of none. No NaN among them.
float largest(std::span<const float> scores);

/// Index of the largest, the first of equals; of a NaN, if there is one, as torch.argmax. There is
/// at least one score.
int64_t argmax(std::span<const float> scores);

/// log_softmax in place.
void logSoftmax(std::span<float> scores);

/// What makes log probabilities of scores.
struct LogNormalizer {
  float top;    // the largest score
  float logSum; // log of the sum of exp(score - top)

  float operator()(float score) const { return score - top - logSum; }
};

/// softmax of scores into `probabilities`, which has their size and may be the same memory.
LogNormalizer softmax(std::span<const float> scores, std::span<float> probabilities);

/// Entropy of probabilities = softmax(scores), in nats.
float entropy(std::span<const float> scores, std::span<const float> probabilities,
              LogNormalizer logOf);

/// The k-th largest, 1 <= k <= the number of scores. `heap` is for its work.
float kthLargest(std::span<const float> scores, int64_t k, std::vector<float> &heap);

/// A token on its way through a filter.
struct WeightedToken {
  float key;    // what it is ordered by; of equal ones the first token comes first
  float weight; // its probability
  int32_t token;

  bool operator<(const WeightedToken &other) const {
    return key != other.key ? key < other.key : token < other.token;
  }
};

/// Reorders items so that the result r says: in ascending order, starting from `base`, crossed(sum
/// of weights so far, as float32) is true from item r on (r = size: for none), the items before r
/// are less, those after are not. Takes time in the order of the number of items, on average.
/// `crossed` may not become false again as the sum grows.
template <typename Crossed>
size_t partitionAtCrossing(std::span<WeightedToken> items, double base, Crossed crossed) {
  constexpr size_t fewItems = 32;
  size_t begin = 0, end = items.size();
  while (end - begin > fewItems) {
    // The middle of three as pivot, at the end of the range.
    WeightedToken &first = items[begin], &middle = items[begin + (end - begin) / 2],
                  &last = items[end - 1];
    if (middle < first)
      std::swap(middle, first);
    if (last < first)
      std::swap(last, first);
    if (middle < last)
      std::swap(middle, last);
    WeightedToken pivot = last;
    double sum = 0;
    size_t split = begin;
    for (size_t i = begin; i + 1 < end; ++i)
      if (items[i] < pivot) {
        sum += items[i].weight;
        std::swap(items[i], items[split++]);
      }
    std::swap(items[split], items[end - 1]);
    if (split > begin && crossed(float(base + sum))) {
      end = split;
      continue;
    }
    base += sum + pivot.weight;
    if (crossed(float(base)))
      return split;
    begin = split + 1;
  }
  std::sort(items.begin() + begin, items.begin() + end);
  for (size_t i = begin; i < end; ++i) {
    base += items[i].weight;
    if (crossed(float(base)))
      return i;
  }
  return end;
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SCORES_H
