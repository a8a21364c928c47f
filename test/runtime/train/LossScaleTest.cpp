#include "runtime/train/LossScale.h"
#include <cmath>
#include <gtest/gtest.h>

using transformer::runtime::LossScale;

TEST(LossScale, OverflowsHalveIt) {
  LossScale scale;
  EXPECT_EQ(scale.scale, 65536);
  scale.goodSteps = 7;
  scale.update(/*isFinite=*/false);
  scale.update(/*isFinite=*/false);
  EXPECT_EQ(scale.scale, 16384);
  EXPECT_EQ(scale.goodSteps, 0);
  EXPECT_EQ(scale.skippedSteps, 2);
}

TEST(LossScale, GoodStepsDoubleIt) {
  LossScale scale;
  for (int i = 0; i < 1999; ++i)
    scale.update(/*isFinite=*/true);
  EXPECT_EQ(scale.scale, 65536);
  scale.update(/*isFinite=*/true);
  EXPECT_EQ(scale.scale, 131072);
  EXPECT_EQ(scale.goodSteps, 0);
  scale.update(/*isFinite=*/true);
  scale.update(/*isFinite=*/false); // begins to count anew
  for (int i = 0; i < 1999; ++i)
    scale.update(/*isFinite=*/true);
  EXPECT_EQ(scale.scale, 65536);
  scale.update(/*isFinite=*/true);
  EXPECT_EQ(scale.scale, 131072);
  EXPECT_EQ(scale.skippedSteps, 1);
}

TEST(LossScale, StaysANumber) {
  LossScale scale;
  for (int i = 0; i < 300; ++i)
    scale.update(/*isFinite=*/false);
  EXPECT_GT(scale.scale, 0);
  for (int i = 0; i < 300 * LossScale::growthInterval; ++i)
    scale.update(/*isFinite=*/true);
  EXPECT_GT(scale.scale, 0x1p120f);
  EXPECT_LT(2 * (scale.scale / 2), INFINITY);
}
