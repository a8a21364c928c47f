//===- Scores.cpp - arithmetic on a row of scores -------------------------===//
#include "runtime/generate/Scores.h"

#include <bit>
#include <cmath>
#include <functional>

namespace transformer::runtime {
namespace {

constexpr size_t lanes = 16; // which fit vector registers

/// exp of a number that is not above 0, within 2 units in the last place, 0 where that is below the
/// least normal number; NaN of NaN. Without branches and calls, for loops over scores: range
/// reduction by Cody and Waite, Taylor's polynomial.
float expOfNegative(float x) {
  constexpr float toInteger = 0x1.8p23f, log2e = 0x1.715476p0f;
  constexpr float ln2High = 0x1.62e4p-1f, ln2Low = 0x1.7f7d1cp-20f;
  float shifted = x * log2e + toInteger, power = shifted - toInteger;
  float rest = x - power * ln2High - power * ln2Low;
  float polynomial = 1.0f / 5040;
  for (float factor : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    polynomial = polynomial * rest + factor;
  // The low bits of `shifted` are the power of two.
  auto scale = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000u);
  return x < -87.0f ? 0.0f : polynomial * scale;
}

/// The sum of exp(score - top), each of which `each(i, exp)` is told.
template <typename Each> double sumOfExps(std::span<const float> scores, float top, Each each) {
  double sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= scores.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) {
      float exp = expOfNegative(scores[i + lane] - top);
      each(i + lane, exp);
      sums[lane] += exp;
    }
  for (; i < scores.size(); ++i) {
    float exp = expOfNegative(scores[i] - top);
    each(i, exp);
    sums[0] += exp;
  }
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

} // namespace

float largest(std::span<const float> scores) {
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
  double sum = sumOfExps(scores, top, [](size_t, float) {});
  LogNormalizer logOf{top, float(std::log(sum))};
  for (float &score : scores)
    score = logOf(score);
}

LogNormalizer softmax(std::span<const float> scores, std::span<float> probabilities) {
  float top = largest(scores);
  double sum = sumOfExps(scores, top, [&](size_t i, float exp) { probabilities[i] = exp; });
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
