#include "runtime/ThreadPool.h"
#include "runtime/Profile.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

using namespace transformer::runtime;

namespace {

using Counts = std::vector<std::atomic<int>>;

void increment(void *context, int64_t index) {
  ++(*static_cast<Counts *>(context))[static_cast<size_t>(index)];
}

void nested(void *context, int64_t index) {
  if (index % 7 == 0)
    tr_parallel_for(increment, context, 100, "inner");
}

/// Puts one thread back when a test ends.
struct PoolOf {
  explicit PoolOf(int count) { setThreads(count); }
  ~PoolOf() { setThreads(1); }
};

TEST(ThreadPool, EveryIndexOnce) {
  for (int count : {1, 2, 3, 8}) {
    PoolOf pool(count);
    EXPECT_EQ(threads(), count);
    for (int64_t tasks : {0, 1, 2, 5, 1000}) {
      Counts counts(static_cast<size_t>(tasks) + 1);
      tr_parallel_for(increment, &counts, tasks, "test");
      for (int64_t i = 0; i < tasks; ++i)
        ASSERT_EQ(counts[static_cast<size_t>(i)], 1);
      ASSERT_EQ(counts.back(), 0);
    }
  }
}

TEST(ThreadPool, ManyShortLoops) {
  PoolOf pool(4);
  Counts counts(16);
  for (int round = 0; round < 20000; ++round)
    tr_parallel_for(increment, &counts, 16, "test");
  for (auto &count : counts)
    EXPECT_EQ(count, 20000);
}

TEST(ThreadPool, WakesAfterSleep) {
  PoolOf pool(3);
  Counts counts(64);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    tr_parallel_for(increment, &counts, 64, "test");
  }
  for (auto &count : counts)
    EXPECT_EQ(count, 20);
}

TEST(ThreadPool, LoopsInsideTasks) {
  PoolOf pool(3);
  Counts counts(100);
  tr_parallel_for(nested, &counts, 70, "outer");
  for (auto &count : counts)
    EXPECT_EQ(count, 10);
}

TEST(ThreadPool, AvailableThreads) { EXPECT_GE(availableThreads(), 1); }

TEST(Profile, WritesTraceEvents) {
  TemporaryFolder folder;
  PoolOf pool(2);
  startProfile(2);
  Counts counts(1000);
  tr_scope("layer \"3\"");
  tr_parallel_for(increment, &counts, 1000, "linear 4x4");
  tr_scope(nullptr);
  writeProfile(folder.path("trace.json"));
  std::ifstream file(folder.path("trace.json"));
  auto trace = nlohmann::json::parse(file);
  int callerSpans = 0;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == 0) {
      ++callerSpans;
      EXPECT_EQ(event["name"], "linear 4x4");
      EXPECT_EQ(event["args"]["layer"], "layer \"3\"");
      EXPECT_EQ(event["args"]["tasks"], 1000);
      EXPECT_EQ(event["args"]["threads"], 2);
      EXPECT_GE(event["dur"].get<double>(), 0);
    }
  EXPECT_EQ(callerSpans, 1);
  EXPECT_FALSE(profiling());
}

} // namespace
