#include "runtime/profile/Profile.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/profile/ProfileRecord.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

using namespace transformer::runtime;
using nlohmann::json;

namespace {

constexpr tr_work linear = {.label = "linear 4x8",
                            .layer = nullptr,
                            .shape = "tokens={} K=4 N=8",
                            .num_amounts = 1,
                            .flops = {64},
                            .bytes = {48},
                            .fixed_bytes = 160};
constexpr tr_work attention = {.label = "attention 2x4",
                               .layer = nullptr,
                               .shape = "sequences={} tokens={} pairs={} heads=2 head_dim=4",
                               .num_amounts = 3,
                               .flops = {0, 0, 32},
                               .bytes = {0, 64, 0},
                               .fixed_bytes = 0};
constexpr tr_work pooler = {.label = "copy",
                            .layer = "pooler",
                            .shape = "",
                            .num_amounts = 0,
                            .flops = {},
                            .bytes = {},
                            .fixed_bytes = 0};

/// Where two threads wait for each other: both take a task, however busy the machine is.
struct Meeting {
  std::mutex mutex;
  std::condition_variable arrival;
  std::set<std::thread::id> threads;
};

void meet(void *context, int64_t) {
  auto &meeting = *static_cast<Meeting *>(context);
  std::unique_lock lock(meeting.mutex);
  meeting.threads.insert(std::this_thread::get_id());
  meeting.arrival.notify_all();
  meeting.arrival.wait(lock, [&] { return meeting.threads.size() == 2; });
}

void pause(void *, int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

int64_t nanoseconds(const json &microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

/// The spans of a thread, in the order of the file.
std::vector<json> spansOf(const json &trace, int thread) {
  std::vector<json> spans;
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == thread)
      spans.push_back(event);
  return spans;
}

/// Writes what two threads did in `body` and reads it back.
template <typename Body> json traceOf(Body body) {
  TemporaryFolder folder;
  setThreads(2);
  startProfile(2);
  body();
  testing::internal::CaptureStderr();
  writeProfile(folder.path("trace.json"));
  testing::internal::GetCapturedStderr();
  setThreads(1);
  EXPECT_FALSE(profiling());
  std::ifstream file(folder.path("trace.json"));
  return json::parse(file);
}

TEST(Profile, SaysWhatEveryLoopDid) {
  const int64_t tokens[] = {5}, sizes[] = {2, 5, 13};
  Meeting meeting;
  json trace = traceOf([&] {
    ProfileScope scope("call", "forward");
    tr_parallel_for(meet, &meeting, 20, &linear, tokens);
    tr_scope("layer \"3\"");
    tr_parallel_for(pause, nullptr, 1, &attention, sizes);
    tr_parallel_for(pause, nullptr, 2, &pooler, nullptr);
    tr_scope(nullptr);
    tr_parallel_for(pause, nullptr, 2, nullptr, nullptr);
  });
  std::vector<json> spans = spansOf(trace, 0);
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[0]["name"], "call");
  json first = spans[1]["args"], second = spans[2]["args"];
  EXPECT_EQ(spans[1]["name"], "linear 4x8");
  EXPECT_EQ(first["layer"], "forward");
  EXPECT_EQ(first["shape"], "tokens=5 K=4 N=8");
  EXPECT_EQ(first["thread"], 0);
  EXPECT_EQ(first["threads"], 2);
  EXPECT_EQ(first["tasks"], 20);
  EXPECT_EQ(first["flops"], 320);
  EXPECT_EQ(first["bytes"], 5 * 48 + 160);
  EXPECT_NEAR(first["gflops_per_second"].get<double>(),
              320.0 / double(nanoseconds(spans[1]["dur"])), 6e-4);
  EXPECT_EQ(second["layer"], "layer \"3\"");
  EXPECT_EQ(second["shape"], "sequences=2 tokens=5 pairs=13 heads=2 head_dim=4");
  EXPECT_EQ(second["flops"], 13 * 32);
  EXPECT_EQ(second["taken"], 1);
  EXPECT_EQ(second["waited_us"], 0);
  EXPECT_EQ(spans[3]["args"]["layer"], "pooler"); // its own
  EXPECT_FALSE(spans[3]["args"].contains("flops"));
  EXPECT_EQ(spans[4]["name"], "unnamed");
  EXPECT_EQ(spans[4]["args"]["layer"], "forward");
  // The worker's share of the first loop, the only one that is sure to have one.
  json share = spansOf(trace, 1).at(0);
  EXPECT_EQ(share["name"], "linear 4x8");
  EXPECT_EQ(share["args"]["layer"], "forward");
  EXPECT_EQ(share["args"]["thread"], 1);
  EXPECT_EQ(share["args"]["taken"].get<int>() + first["taken"].get<int>(), 20);
}

TEST(Profile, SpansNest) {
  const int64_t tokens[] = {1};
  json trace = traceOf([&] {
    for (int call = 0; call < 20; ++call) {
      ProfileScope scope("call");
      for (int loop = 0; loop < 20; ++loop)
        tr_parallel_for(pause, nullptr, loop % 4, &linear, tokens);
    }
  });
  std::vector<json> spans = spansOf(trace, 0);
  ASSERT_EQ(spans.size(), 20u * 21);
  int64_t callEnd = 0, loopEnd = 0;
  for (const json &span : spans) {
    int64_t begin = nanoseconds(span["ts"]), end = begin + nanoseconds(span["dur"]);
    if (span["name"] == "call") {
      ASSERT_GE(begin, callEnd);
      callEnd = end;
    } else {
      ASSERT_GE(begin, loopEnd);
      ASSERT_LE(end, callEnd);
      loopEnd = end;
    }
  }
}

TEST(Profile, Summary) {
  // Two threads. A loop of 100 us: the worker comes 10 us late and is done 20 us early. One of 50
  // us without the worker. 10 us of the call are no loop.
  ProfileRecord record;
  record.scopes.push_back({"call", 0, 160000});
  record.loops.push_back({&linear, "layer", {100000}, 4, 2, 0, 100000, 100000});
  record.loops.push_back({&attention, "layer", {1, 1, 1000}, 1, 1, 105000, 155000, 155000});
  record.shares.push_back({{0, 2, 10000, 80000}});
  EXPECT_EQ(summaryText(record),
            "call: 1 x, 0.160 ms, 2 threads\n"
            "        ms   share   calls  GFLOP/s    GB/s    late  waited  work\n"
            "     0.100  62.5 %       1     64.0    48.0   5.0 %  10.0 %  linear 4x8\n"
            "     0.050  31.2 %       1      0.6     0.0  50.0 %   0.0 %  attention 2x4\n"
            "     0.010   6.2 %                                            between loops\n");
}

} // namespace
