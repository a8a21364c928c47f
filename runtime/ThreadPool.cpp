//===- ThreadPool.cpp - the threads behind tr_parallel_for ----------------===//
#include "runtime/ThreadPool.h"

#include "runtime/CpuRelax.h"
#include "runtime/Error.h"
#include "runtime/Profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <linux/futex.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace transformer::runtime {
namespace {

/// How long a thread watches before it sleeps (a worker) or gives its CPU away (the caller).
constexpr auto spinTime = std::chrono::microseconds(30);

/// True while this thread runs a task: a loop inside a task runs on this thread alone.
thread_local bool insideTask = false;

template <typename Condition> bool spinUntil(Condition condition) {
  auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 64; ++i) {
      if (condition())
        return true;
      cpuRelax();
    }
    if (std::chrono::steady_clock::now() - start > spinTime)
      return condition();
  }
}

void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

/// The tasks [first, end) that are left of a thread's share of a loop, in one word.
struct alignas(64) Share {
  std::atomic<uint64_t> left{0};

  static uint64_t pack(uint64_t first, uint64_t end) { return first << 32 | end; }

  /// Takes the first task, or the last one; -1 when none is left.
  int64_t take(bool front) {
    uint64_t seen = left.load(std::memory_order_relaxed);
    for (;;) {
      uint64_t first = seen >> 32, end = seen & UINT32_MAX;
      if (first >= end)
        return -1;
      uint64_t rest = front ? pack(first + 1, end) : pack(first, end - 1);
      if (left.compare_exchange_weak(seen, rest, std::memory_order_relaxed))
        return static_cast<int64_t>(front ? first : end - 1);
    }
  }
};

class Pool {
public:
  ~Pool() { stop(); }

  int size() const { return static_cast<int>(workers.size()) + 1; }

  void start(int count) {
    stop();
    shares = std::make_unique<Share[]>(static_cast<size_t>(count));
    try {
      for (int i = 1; i < count; ++i)
        workers.emplace_back([this, i, seen = epoch.load()] { serve(i, seen); });
    } catch (const std::system_error &) {
      int started = size();
      stop();
      fail("cannot start {} threads (the system allows {})", count, started);
    }
  }

  void run(tr_task_fn function, void *data, int64_t number, const char *name) {
    task = function;
    context = data;
    count = number;
    label = name;
    divide(number);
    open.store(true);
    announce();
    take(0);
    // Waits only for workers that came; one that the system has not woken yet finds it closed.
    open.store(false);
    auto finished = [this] { return active.load() == 0; };
    if (!spinUntil(finished))
      while (!finished())
        sched_yield();
  }

private:
  void announce() {
    epoch.fetch_add(1);
    if (sleepers.load() != 0)
      futex(epoch, FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  void stop() {
    if (workers.empty())
      return;
    stopping = true;
    announce();
    for (std::thread &worker : workers)
      worker.join();
    workers.clear();
    stopping = false;
  }

  /// Equal shares of consecutive tasks: what a thread reads next follows what it reads now, so
  /// that a task can fetch ahead for the next one.
  void divide(int64_t number) {
    auto parts = static_cast<uint64_t>(size()), tasks = static_cast<uint64_t>(number);
    for (uint64_t i = 0; i < parts; ++i)
      shares[i].left.store(Share::pack(tasks * i / parts, tasks * (i + 1) / parts),
                           std::memory_order_relaxed);
  }

  /// Runs this thread's share, then what is left of the others', from its end; returns how many.
  int64_t take(int thread) {
    insideTask = true;
    int64_t taken = 0;
    for (int i = 0, parts = size(); i < parts; ++i) {
      Share &share = shares[static_cast<size_t>((thread + i) % parts)];
      for (int64_t index; (index = share.take(i == 0)) >= 0; ++taken)
        task(context, index);
    }
    insideTask = false;
    return taken;
  }

  void serve(int thread, uint32_t seen) {
    for (;;) {
      auto called = [&] { return epoch.load() != seen; };
      if (!spinUntil(called)) {
        sleepers.fetch_add(1);
        while (!called())
          futex(epoch, FUTEX_WAIT_PRIVATE, seen);
        sleepers.fetch_sub(1);
      }
      seen = epoch.load();
      if (stopping.load())
        return;
      // The order matters: who counts itself first and then finds the loop open is waited for, so
      // the loop's fields stay as they are until it has left.
      active.fetch_add(1);
      if (open.load())
        help(thread);
      active.fetch_sub(1);
    }
  }

  void help(int thread) {
    double begin = profiling() ? profileNow() : 0;
    if (take(thread) != 0 && profiling())
      profileSpan(thread, label, begin, profileNow(), count);
  }

  std::unique_ptr<Share[]> shares; // one a thread
  alignas(64) std::atomic<int> active{0};
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> open{false}, stopping{false};
  alignas(64) tr_task_fn task = nullptr;
  void *context = nullptr;
  int64_t count = 0;
  const char *label = nullptr;
  std::vector<std::thread> workers;
};

Pool pool;

/// CPUs that the cgroup's quota pays for, or INT_MAX.
int cgroupQuota() {
  std::FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file)
    return INT_MAX;
  long long quota = 0, period = 0;
  int found = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  if (found != 2 || quota <= 0 || period <= 0)
    return INT_MAX; // "max"
  return static_cast<int>(std::max<long long>(1, (quota + period - 1) / period));
}

} // namespace

int availableThreads() {
  // The mask may be wider than cpu_set_t on large machines.
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC(static_cast<size_t>(cpus));
    size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0)
      return std::min(count, cgroupQuota());
  }
  return 1;
}

void setThreads(int count) { pool.start(count); }

int threads() { return pool.size(); }

} // namespace transformer::runtime

extern "C" void tr_parallel_for(tr_task_fn task, void *context, int64_t count, const char *label) {
  using namespace transformer::runtime;
  bool traced = profiling() && !insideTask;
  double begin = traced ? profileNow() : 0;
  if (count <= 1 || count > UINT32_MAX || insideTask || pool.size() == 1) {
    for (int64_t i = 0; i < count; ++i)
      task(context, i);
  } else {
    pool.run(task, context, count, label);
  }
  if (traced)
    profileSpan(0, label, begin, profileNow(), count);
}
