#include "runtime/generate/Warpers.h"
#include "test/runtime/TestSupport.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace transformer::runtime;

namespace {

using Row = std::vector<float>;
constexpr float no = minusInfinity;

/// The tokens that a warper leaves of scores, which are logarithms of these probabilities.
template <typename Warp>
std::vector<size_t> kept(const std::vector<double> &probabilities, Warp warp) {
  Row row;
  for (double probability : probabilities)
    row.push_back(float(std::log(probability)));
  WarperScratch scratch;
  Row before = row;
  warp(std::span<float>(row), scratch);
  std::vector<size_t> tokens;
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i] > no) {
      EXPECT_EQ(row[i], before[i]);
      tokens.push_back(i);
    }
  return tokens;
}

using Kept = std::vector<size_t>;

TEST(Scores, ProbabilitiesAreThoseOfDoubles) {
  Row row, probabilities(1003);
  for (size_t i = 0; i < probabilities.size(); ++i)
    row.push_back(-120 * float(i * 7 % 1003) / 1003);
  row[17] = no;
  softmax(row, probabilities);
  double sum = 0;
  for (float score : row)
    sum += std::exp(double(score));
  for (size_t i = 0; i < row.size(); ++i) {
    double expected = std::exp(double(row[i])) / sum; // what is no normal number may be 0
    EXPECT_NEAR(probabilities[i], expected, 3e-7 * expected + 0x1p-126) << row[i];
  }
  row[1000] = std::nanf("");
  softmax(row, probabilities);
  EXPECT_TRUE(std::isnan(probabilities[0]));
}

TEST(Scores, SoftmaxAndWhatComesOfIt) {
  Row row{0, std::log(2.0f), std::log(5.0f), no}, probabilities(4);
  LogNormalizer logOf = softmax(row, probabilities);
  EXPECT_FLOAT_EQ(probabilities[0], 0.125f);
  EXPECT_FLOAT_EQ(probabilities[1], 0.25f);
  EXPECT_FLOAT_EQ(probabilities[2], 0.625f);
  EXPECT_EQ(probabilities[3], 0);
  EXPECT_FLOAT_EQ(
      entropy(row, probabilities, logOf),
      float(-(0.125 * std::log(0.125) + 0.25 * std::log(0.25) + 0.625 * std::log(0.625))));
  logSoftmax(row);
  EXPECT_FLOAT_EQ(row[1], std::log(0.25f));
  EXPECT_EQ(row[3], no);
  Row many(1000);
  std::iota(many.begin(), many.end(), -2000.0f);
  EXPECT_EQ(largest(many), -1001);
  EXPECT_EQ(largest(Row{-5}), -5);
}

TEST(Scores, ArgmaxTakesTheFirst) {
  EXPECT_EQ(argmax(Row{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(Row{no, no}), 0);
  EXPECT_EQ(argmax(Row{1, std::nanf(""), 7}), 1);
}

TEST(Scores, KthLargest) {
  std::mt19937 random(1);
  Row row(5000), heap;
  for (float &value : row)
    value = float(random() % 3000);
  Row sorted = row;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (int64_t k : {1, 2, 50, 1024, 1025, 5000})
    EXPECT_EQ(kthLargest(row, k, heap), sorted[size_t(k - 1)]) << k;
}

// Against a sort, with equal keys and weights of all sizes.
TEST(Scores, PartitionAtCrossing) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<WeightedToken> items(1 + random() % 700);
    float total = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      auto weight = float(random() % 64) / 64; // sums are exact
      items[i] = {float(random() % (round % 2 ? 5 : 100000)), weight, int32_t(i)};
      total += weight;
    }
    std::vector<WeightedToken> sorted = items;
    std::sort(sorted.begin(), sorted.end());
    float limit = total * float(random() % 120) / 100;
    auto crossed = [&](float sum) { return sum > limit; };
    size_t expected = 0;
    for (float sum = 0; expected < sorted.size(); ++expected)
      if (crossed(sum += sorted[expected].weight))
        break;
    ASSERT_EQ(partitionAtCrossing(items, 0, crossed), expected);
    for (size_t i = 0; i < items.size(); ++i)
      ASSERT_EQ(i < expected, expected < items.size() ? items[i] < sorted[expected] : true);
  }
}

TEST(Warpers, Temperature) {
  Row row{1, -2, no};
  applyTemperature(row, 0.5);
  EXPECT_EQ(row, (Row{2, -4, no}));
}

TEST(Warpers, TopK) {
  auto top = [](int64_t k, int64_t least) {
    return [=](auto row, auto &scratch) { keepTopK(row, k, least, scratch); };
  };
  EXPECT_EQ(kept({0.1, 0.3, 0.2, 0.4}, top(2, 1)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.2, 0.4}, top(9, 1)), (Kept{0, 1, 2, 3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.2, 0.4}, top(1, 3)), (Kept{1, 2, 3}));
  EXPECT_EQ(kept({0.25, 0.25, 0.25, 0.25}, top(2, 1)), (Kept{0, 1, 2, 3})); // equals stay
}

TEST(Warpers, TopP) {
  auto top = [](double mass, int64_t least) {
    return [=](auto row, auto &scratch) { keepTopP(row, mass, least, scratch); };
  };
  EXPECT_EQ(kept({0.1, 0.3, 0.15, 0.45}, top(0.8, 1)), (Kept{1, 2, 3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.15, 0.45}, top(0.7, 1)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.15, 0.45}, top(0, 1)), (Kept{3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.15, 0.45}, top(0.1, 2)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.1, 0.3, 0.15, 0.45}, top(0.1, 9)), (Kept{0, 1, 2, 3}));
  EXPECT_EQ(kept({0.25, 0.25, 0.25, 0.25}, top(0.6, 1)), (Kept{1, 2, 3})); // the first goes first
}

TEST(Warpers, TopH) {
  auto top = [](double share) {
    return [=](auto row, auto &scratch) { keepTopH(row, share, scratch); };
  };
  // Entropy 1.2799; the terms of 0.4, 0.3, 0.2, 0.1 are 0.3665, 0.3612, 0.3219, 0.2303.
  EXPECT_EQ(kept({0.1, 0.4, 0.2, 0.3}, top(0.2)), (Kept{1}));
  EXPECT_EQ(kept({0.1, 0.4, 0.2, 0.3}, top(0.5)), (Kept{1}));
  EXPECT_EQ(kept({0.1, 0.4, 0.2, 0.3}, top(0.6)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.1, 0.4, 0.2, 0.3}, top(0.83)), (Kept{1, 2, 3}));
  // No more than 100.
  EXPECT_LE(kept(std::vector<double>(300, 1.0 / 300), top(1)).size(), 100u);
}

TEST(Warpers, MinP) {
  auto least = [](double share, int64_t tokens) {
    return [=](auto row, auto &scratch) { keepMinP(row, share, tokens, scratch); };
  };
  EXPECT_EQ(kept({0.04, 0.5, 0.3, 0.16}, least(0.3, 1)), (Kept{1, 2, 3}));
  EXPECT_EQ(kept({0.04, 0.5, 0.3, 0.16}, least(0.9, 1)), (Kept{1}));
  EXPECT_EQ(kept({0.04, 0.5, 0.3, 0.16}, least(0.9, 3)), (Kept{1, 2, 3}));
}

TEST(Warpers, Typical) {
  auto typical = [](double mass, int64_t least) {
    return [=](auto row, auto &scratch) { keepTypical(row, mass, least, scratch); };
  };
  // Entropy 1.1059; distances: of 0.55 0.508, of 0.25 0.280, of 0.15 0.791, of 0.05 1.890.
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, typical(0.2, 1)), (Kept{3}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, typical(0.5, 1)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, typical(0.9, 1)), (Kept{1, 2, 3}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, typical(0.2, 3)), (Kept{1, 2, 3}));
}

TEST(Warpers, EpsilonAndEta) {
  auto epsilon = [](double cutoff, int64_t least) {
    return [=](auto row, auto &scratch) { keepEpsilon(row, cutoff, least, scratch); };
  };
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, epsilon(0.1, 1)), (Kept{1, 2, 3}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, epsilon(0.9, 1)), (Kept{1}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, epsilon(0.9, 2)), (Kept{1, 3}));
  auto eta = [](double cutoff) {
    return [=](auto row, auto &scratch) { keepEta(row, cutoff, 1, scratch); };
  };
  // sqrt(0.36) * exp(-1.1059) = 0.1986 is less than 0.36.
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, eta(0.36)), (Kept{1, 3}));
  EXPECT_EQ(kept({0.05, 0.55, 0.15, 0.25}, eta(0.01)), (Kept{0, 1, 2, 3}));
}

} // namespace
