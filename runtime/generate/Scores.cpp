//===- Scores.cpp - arithmetic on a row of scores -------------------------===//
#include "runtime/generate/Scores.h"

#include <cmath>
#include <functional>

namespace transformer::runtime {

float largest(std::span<const float> scores) {
  // Lanes, which fit vector registers.
  constexpr size_t lanes = 16;
  float best[lanes];
  std::fill(best, best + lanes, minusInfinity);
  size_t i = 0;
  for (; i + lanes <= scores.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      best[lane] = scores[i + lane] > best[lane] ? scores[i + lane] : best[lane];
  for (; i < scores.size(); ++i)
    best[0] = std::max(best[0], scores[i]);
  return *std::max_element(best, best + lanes);
}

int64_t argmax(std::span<const float> scores) {
  constexpr size_t blockSize = 1024; // its largest is found without branches, then its place
  float top = minusInfinity;
  size_t block = 0;
  for (size_t first = 0; first < scores.size(); first += blockSize) {
    std::span<const float> part = scores.subspan(first, std::min(blockSize, scores.size() - first));
    int unordered = 0;
    for (float score : part)
      unordered |= score != score;
    if (unordered)
      return std::find_if(part.begin(), part.end(), [](float x) { return std::isnan(x); }) -
             part.begin() + int64_t(first);
    if (float most = largest(part); most > top) {
      top = most;
      block = first;
    }
  }
  auto rest = scores.subspan(block);
  return std::find(rest.begin(), rest.end(), top) - rest.begin() + int64_t(block);
}

void logSoftmax(std::span<float> scores) {
  float top = largest(scores);
  double sum = 0;
  for (float score : scores)
    sum += std::exp(score - top);
  LogNormalizer logOf{top, float(std::log(sum))};
  for (float &score : scores)
    score = logOf(score);
}

LogNormalizer softmax(std::span<const float> scores, std::span<float> probabilities) {
  float top = largest(scores);
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    sum += probabilities[i] = std::exp(scores[i] - top);
  auto divisor = float(sum);
  for (float &probability : probabilities)
    probability /= divisor;
  return {top, float(std::log(sum))};
}

float entropy(std::span<const float> scores, std::span<const float> probabilities,
              LogNormalizer logOf) {
  double result = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    if (probabilities[i] > 0)
      result -= logOf(scores[i]) * probabilities[i];
  return float(result);
}

float kthLargest(std::span<const float> scores, int64_t k, std::vector<float> &heap) {
  constexpr int64_t mostForHeap = 1024;
  if (k == 1)
    return largest(scores);
  if (k > mostForHeap) {
    heap.assign(scores.begin(), scores.end());
    std::nth_element(heap.begin(), heap.begin() + (k - 1), heap.end(),
                     [](float a, float b) { return (std::isnan(a) && !std::isnan(b)) || a > b; });
    return heap[size_t(k) - 1];
  }
  // The k largest so far, the least of them in front.
  heap.assign(scores.begin(), scores.begin() + k);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  for (float score : scores.subspan(size_t(k)))
    if (score > heap.front()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      heap.back() = score;
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  return heap.front();
}

} // namespace transformer::runtime
