#include "runtime/train/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace transformer::runtime;

namespace {

/// The rates of the first steps are these, to a few units in the last place.
void expectRates(const Schedule &schedule, const std::vector<double> &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_DOUBLE_EQ(schedule.rate(int64_t(i) + 1), expected[i]) << "step " << i + 1;
}

// What transformers' get_*_schedule_with_warmup give a scheduler that steps behind each step.
TEST(Schedule, IsThatOfTransformers) {
  expectRates({Schedule::Constant, 0.5, 3, 10}, {0, 0.5 / 3, 1.0 / 3, 0.5, 0.5, 0.5});
  expectRates({Schedule::Constant, 0.5, 0, 10}, {0.5, 0.5});
  expectRates({Schedule::Linear, 0.5, 3, 10},
              {0, 0.5 / 3, 1.0 / 3, 0.5, 3.0 / 7, 2.5 / 7, 2.0 / 7, 1.5 / 7, 1.0 / 7, 0.5 / 7, 0});
  expectRates({Schedule::Linear, 0.5, 0, 4}, {0.5, 0.375, 0.25, 0.125, 0, 0});
  expectRates({Schedule::Cosine, 0.5, 3, 10},
              {0, 0.5 / 3, 1.0 / 3, 0.5, 0.47524221697560476, 0.4058724504646834,
               0.3056302334890786, 0.19436976651092142, 0.09412754953531663, 0.02475778302439524});
  expectRates({Schedule::Cosine, 0.5, 0, 10}, {0.5, 0.4877641290737884, 0.45225424859373686,
                                               0.3969463130731183, 0.32725424859373686, 0.25});
}

TEST(Schedule, WarmupMayBeLongerThanTraining) {
  for (Schedule::Kind kind : {Schedule::Constant, Schedule::Linear, Schedule::Cosine})
    expectRates({kind, 1, 8, 4}, {0, 0.125, 0.25, 0.375});
}

// d_model^-0.5 min(step^-0.5, step warmup^-1.5) with a peak of (d_model warmup)^-0.5.
TEST(Schedule, InverseSquareRootIsThatOfThePaper) {
  expectRates({Schedule::InverseSqrt, 0.5, 4, 100},
              {0.125, 0.25, 0.375, 0.5, 0.4472135954999579, 0.4082482904638630});
  Schedule paper{Schedule::InverseSqrt, 1 / std::sqrt(512.0 * 4000), 4000, 100000};
  EXPECT_DOUBLE_EQ(paper.rate(1), 1 / std::sqrt(512.0) / (4000 * std::sqrt(4000.0)));
  EXPECT_DOUBLE_EQ(paper.rate(4000), paper.peak);
  EXPECT_DOUBLE_EQ(paper.rate(100000), 1 / std::sqrt(512.0 * 100000));
}

} // namespace
