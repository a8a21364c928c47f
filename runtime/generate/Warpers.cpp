//===- Warpers.cpp - filters for sampling ---------------------------------===//
#include "runtime/generate/Warpers.h"

#include <cmath>

namespace transformer::runtime {
namespace {

struct Distribution {
  std::span<const float> scores, probabilities;
  LogNormalizer logOf;

  float entropy() const { return runtime::entropy(scores, probabilities, logOf); }
};

/// Its probabilities lie in the scratch.
Distribution distributionOf(std::span<const float> scores, WarperScratch &scratch) {
  scratch.probabilities.resize(scores.size());
  LogNormalizer logOf = softmax(scores, scratch.probabilities);
  return {scores, scratch.probabilities, logOf};
}

/// Leaves out tokens of less probability than `cutoff`, but none of the `minTokens` best and their
/// equals.
void keepFrom(std::span<float> scores, std::span<const float> probabilities, float cutoff,
              int64_t minTokens, WarperScratch &scratch) {
  float kept = kthLargest(scores, std::min(minTokens, int64_t(scores.size())), scratch.heap);
  for (size_t i = 0; i < scores.size(); ++i)
    if (probabilities[i] < cutoff && scores[i] < kept)
      scores[i] = minusInfinity;
}

} // namespace

void applyTemperature(std::span<float> scores, double temperature) {
  auto divisor = float(temperature);
  for (float &score : scores)
    score /= divisor;
}

void keepTopK(std::span<float> scores, int64_t k, int64_t minTokens, WarperScratch &scratch) {
  k = std::min(std::max(k, minTokens), int64_t(scores.size()));
  float last = kthLargest(scores, k, scratch.heap);
  for (float &score : scores)
    score = score < last ? minusInfinity : score;
}

void keepTopP(std::span<float> scores, double mass, int64_t minTokens, WarperScratch &scratch) {
  std::span<const float> probabilities = distributionOf(scores, scratch).probabilities;
  // From the worst token on, those go whose probabilities add up to no more than this.
  auto limit = float(1 - mass);
  // Tokens so rare that all of them together are less need no order; with more than one token to
  // keep they may be among those.
  float rare = minTokens == 1 ? limit / float(scores.size()) * 0.5f : 0;
  double base = 0;
  std::vector<WeightedToken> &items = scratch.items;
  items.clear();
  for (size_t i = 0; i < scores.size(); ++i) {
    if (probabilities[i] < rare) {
      base += probabilities[i];
      scores[i] = minusInfinity;
    } else if (scores[i] > minusInfinity) {
      items.push_back({scores[i], probabilities[i], int32_t(i)});
    }
  }
  size_t removed = partitionAtCrossing(items, base, [&](float sum) { return !(sum <= limit); });
  size_t most = items.size() - std::min(items.size(), size_t(minTokens));
  if (removed > most) {
    removed = most;
    std::nth_element(items.begin(), items.begin() + most, items.end());
  }
  for (size_t i = 0; i < removed; ++i)
    scores[size_t(items[i].token)] = minusInfinity;
}

void keepTopH(std::span<float> scores, double share, WarperScratch &scratch) {
  constexpr size_t most = 100;
  size_t count = std::min(most, scores.size());
  // The best, the least of them in front; of equals the first.
  auto better = [](const WeightedToken &a, const WeightedToken &b) {
    return a.key != b.key ? a.key > b.key : a.token < b.token;
  };
  std::vector<WeightedToken> &best = scratch.items;
  best.clear();
  for (size_t i = 0; i < scores.size(); ++i) {
    if (best.size() < count) {
      best.push_back({scores[i], 0, int32_t(i)});
      std::push_heap(best.begin(), best.end(), better);
    } else if (scores[i] > best.front().key) {
      std::pop_heap(best.begin(), best.end(), better);
      best.back() = {scores[i], 0, int32_t(i)};
      std::push_heap(best.begin(), best.end(), better);
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  scratch.heap.clear();
  for (const WeightedToken &token : best)
    scratch.heap.push_back(token.key);
  Distribution found = distributionOf(scratch.heap, scratch);
  float budget = found.entropy() * float(share);
  std::fill(scores.begin(), scores.end(), minusInfinity);
  double sum = 0;
  for (size_t i = 0; i < best.size(); ++i) {
    float probability = found.probabilities[i];
    sum -= probability * std::log(probability);
    if (i == 0 || float(sum) <= budget)
      scores[size_t(best[i].token)] = best[i].key;
  }
}

void keepMinP(std::span<float> scores, double share, int64_t minTokens, WarperScratch &scratch) {
  std::span<const float> probabilities = distributionOf(scores, scratch).probabilities;
  float cutoff = float(share) * largest(probabilities);
  keepFrom(scores, probabilities, cutoff, minTokens, scratch);
}

void keepTypical(std::span<float> scores, double mass, int64_t minTokens, WarperScratch &scratch) {
  Distribution found = distributionOf(scores, scratch);
  float expected = found.entropy();
  std::vector<WeightedToken> &items = scratch.items;
  items.clear();
  for (size_t i = 0; i < scores.size(); ++i)
    items.push_back(
        {std::abs(-found.logOf(scores[i]) - expected), found.probabilities[i], int32_t(i)});
  auto limit = float(mass);
  size_t crossing = partitionAtCrossing(items, 0, [&](float value) { return !(value < limit); });
  float last = crossing < items.size() ? items[crossing].key
                                       : std::max_element(items.begin(), items.end())->key;
  size_t kept = std::min(size_t(minTokens), items.size());
  if (kept > 0 && kept < items.size())
    std::nth_element(items.begin(), items.begin() + (kept - 1), items.end());
  for (size_t i = kept; i < items.size(); ++i)
    if (items[i].key > last)
      scores[size_t(items[i].token)] = minusInfinity;
}

void keepEpsilon(std::span<float> scores, double cutoff, int64_t minTokens,
                 WarperScratch &scratch) {
  keepFrom(scores, distributionOf(scores, scratch).probabilities, float(cutoff), minTokens,
           scratch);
}

void keepEta(std::span<float> scores, double cutoff, int64_t minTokens, WarperScratch &scratch) {
  auto epsilon = float(cutoff);
  Distribution found = distributionOf(scores, scratch);
  float eta = std::min(epsilon, std::sqrt(epsilon) * std::exp(-found.entropy()));
  keepFrom(scores, found.probabilities, eta, minTokens, scratch);
}

} // namespace transformer::runtime
