#include "runtime/train/BatchPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace transformer::runtime;

namespace {

using Rows = std::vector<uint32_t>;

/// Lengths 1 to 17 in no order.
std::vector<uint32_t> lengthsOf(uint32_t rows) {
  std::vector<uint32_t> lengths;
  for (uint32_t row = 0; row < rows; ++row)
    lengths.push_back(1 + row * 7 % 17);
  return lengths;
}

std::vector<Rows> batchesOf(const BatchPlan &plan) {
  std::vector<Rows> batches;
  for (int64_t step = 0; step < plan.steps(); ++step)
    batches.push_back(plan.rows(step));
  return batches;
}

TEST(BatchPlan, EachEpochHasEachRowOnce) {
  BatchPlan plan(lengthsOf(1003), {.epochs = 3, .rows = 4});
  EXPECT_EQ(plan.steps(), 3 * 251);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<uint32_t> seen;
    size_t numSmaller = 0;
    for (int64_t step = epoch * 251; step < (epoch + 1) * 251; ++step) {
      EXPECT_EQ(plan.epochOf(step), epoch);
      seen.insert(plan.rows(step).begin(), plan.rows(step).end());
      numSmaller += plan.rows(step).size() < 4;
    }
    EXPECT_EQ(seen.size(), 1003u);
    EXPECT_EQ(std::set<uint32_t>(seen.begin(), seen.end()).size(), 1003u);
    EXPECT_EQ(numSmaller, 1u);
  }
}

// A resumed run asks for other steps first.
TEST(BatchPlan, AStepDependsOnItsIndexAlone) {
  for (Batching batching :
       {Batching{.epochs = 4, .rows = 8}, Batching{.epochs = 4, .tokens = 60}}) {
    BatchPlan plan(lengthsOf(300), batching), other(lengthsOf(300), batching);
    std::vector<Rows> batches = batchesOf(plan);
    ASSERT_EQ(other.steps(), plan.steps());
    for (int64_t step = plan.steps() - 1; step >= 0; --step)
      EXPECT_EQ(other.rows(step), batches[size_t(step)]) << step;
  }
}

TEST(BatchPlan, SeedsAndEpochsDiffer) {
  std::vector<Rows> one = batchesOf({lengthsOf(96), {.seed = 1, .epochs = 2}});
  std::vector<Rows> two = batchesOf({lengthsOf(96), {.seed = 2, .epochs = 2}});
  EXPECT_NE(one, two);
  EXPECT_NE(Rows(one[0]), Rows(one[12]));
  EXPECT_EQ(one, batchesOf({lengthsOf(96), {.seed = 1, .epochs = 2}}));
}

TEST(BatchPlan, RowsOfABatchAreOfOneLength) {
  std::vector<uint32_t> lengths = lengthsOf(50 * 8 * 3);
  std::vector<Rows> batches = batchesOf({lengths, {}});
  size_t padding = 0, tokens = 0;
  std::vector<uint32_t> longest;
  for (const Rows &rows : batches) {
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                               [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; }));
    longest.push_back(lengths[rows[0]]);
    for (uint32_t row : rows) {
      tokens += lengths[row];
      padding += lengths[rows[0]] - lengths[row];
    }
  }
  EXPECT_LT(padding * 20, tokens); // batches of any rows: about as much as there are tokens
  EXPECT_FALSE(std::is_sorted(longest.rbegin(), longest.rend())); // batches are shuffled
}

TEST(BatchPlan, TokensFillABatch) {
  std::vector<uint32_t> lengths = lengthsOf(500);
  lengths[7] = 90;
  BatchPlan plan(lengths, {.epochs = 3, .tokens = 60});
  std::multiset<uint32_t> seen;
  size_t full = 0;
  for (const Rows &rows : batchesOf(plan)) {
    seen.insert(rows.begin(), rows.end());
    uint32_t tokens = 0;
    for (uint32_t row : rows)
      tokens += lengths[row];
    if (std::count(rows.begin(), rows.end(), 7u))
      EXPECT_EQ(rows.size(), 1u); // too long for any batch
    else
      EXPECT_LE(tokens, 60u);
    full += tokens >= 43; // no other row fits
  }
  EXPECT_EQ(seen.size(), 1500u);
  EXPECT_EQ(seen.count(7), 3u);
  EXPECT_GE(full + 3 * 3, size_t(plan.steps()));
}

// What test/e2e/train_text.py computes in Python.
TEST(BatchPlan, KnownAnswer) {
  EXPECT_EQ(batchesOf({{3, 1, 2, 5, 4}, {.seed = 3, .epochs = 2, .rows = 2}}),
            (std::vector<Rows>{{3, 4}, {1}, {0, 2}, {1}, {0, 2}, {3, 4}}));
}

} // namespace
