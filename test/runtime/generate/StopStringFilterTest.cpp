#include "runtime/generate/StopStringFilter.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

TEST(StopStringFilter, HoldsBackWhatMayStop) {
  StopStringFilter filter({"END", "\n\n"});
  EXPECT_EQ(filter.put("text E"), "text ");
  EXPECT_EQ(filter.put("N"), "");
  EXPECT_EQ(filter.put("T\n"), "ENT");
  EXPECT_FALSE(filter.stopped());
  EXPECT_EQ(filter.put("x EEN"), "\nx E");
  EXPECT_EQ(filter.put("D more"), "");
  EXPECT_TRUE(filter.stopped());
  EXPECT_EQ(filter.put("more"), "");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_EQ(filter.put("E"), "");
  EXPECT_EQ(filter.finish(), "E");
}

TEST(StopStringFilter, TheEarliestCounts) {
  StopStringFilter filter({"abcd", "bc", "cx"});
  EXPECT_EQ(filter.put("1a"), "1");
  EXPECT_EQ(filter.put("bcx"), "a");
  EXPECT_TRUE(filter.stopped());
}

} // namespace
