#include "runtime/execute/ThreadPool.h"
#include "test/runtime/TestSupport.h"

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
    tr_parallel_for(increment, context, 100, nullptr, nullptr);
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
      tr_parallel_for(increment, &counts, tasks, nullptr, nullptr);
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
    tr_parallel_for(increment, &counts, 16, nullptr, nullptr);
  for (auto &count : counts)
    EXPECT_EQ(count, 20000);
}

TEST(ThreadPool, WakesAfterSleep) {
  PoolOf pool(3);
  Counts counts(64);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    tr_parallel_for(increment, &counts, 64, nullptr, nullptr);
  }
  for (auto &count : counts)
    EXPECT_EQ(count, 20);
}

TEST(ThreadPool, LoopsInsideTasks) {
  PoolOf pool(3);
  Counts counts(100);
  tr_parallel_for(nested, &counts, 70, nullptr, nullptr);
  for (auto &count : counts)
    EXPECT_EQ(count, 10);
}

TEST(ThreadPool, AvailableThreads) { EXPECT_GE(availableThreads(), 1); }

void sleepInLastTask(void *context, int64_t index) {
  if (index == 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  increment(context, index);
}

// The one that is done sleeps; neither a wake-up nor a task is lost.
TEST(ThreadPool, WaitsForALongTask) {
  PoolOf pool(2);
  Counts counts(2);
  for (int round = 0; round < 50; ++round)
    tr_parallel_for(sleepInLastTask, &counts, 2, nullptr, nullptr);
  EXPECT_EQ(counts[0], 50);
  EXPECT_EQ(counts[1], 50);
}

} // namespace
