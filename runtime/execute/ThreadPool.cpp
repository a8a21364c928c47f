//===- ThreadPool.cpp - the threads behind tr_parallel_for ----------------===//
#include "runtime/execute/ThreadPool.h"

#include "runtime/base/Error.h"
#include "runtime/execute/CpuRelax.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
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

using Clock = std::chrono::steady_clock;

/// True while this thread runs a task: a loop inside a task runs on this thread alone.
thread_local bool insideTask = false;

/// How long a thread watches memory before it sleeps. A sleeper takes tens of microseconds to wake,
/// so where the CPU is free watching pays even through gaps between loops; where other threads want
/// the CPU, watching takes it from them.
class Patience {
public:
  /// Watches until `condition` holds; false when it is time to sleep.
  template <typename Condition> bool watch(Condition condition) {
    auto start = Clock::now(), last = start;
    for (;;) {
      for (int i = 0; i < 32; ++i) {
        if (condition()) {
          limit = std::min(2 * limit, longest);
          return true;
        }
        cpuRelax();
      }
      auto now = Clock::now();
      bool lostCpu = now - last > interruption;
      last = now;
      if (lostCpu || now - start > limit) {
        limit = lostCpu ? shortest : std::max(limit / 2, shortest);
        return condition();
      }
    }
  }

private:
  static constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds(10);
  static constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(160);
  /// A step of watching takes about a microsecond; one that takes this long ran beside others.
  static constexpr std::chrono::nanoseconds interruption = std::chrono::microseconds(100);
  std::chrono::nanoseconds limit = longest;
};

/// A word to sleep on. Whoever changes what a sleeper waits for calls wake() afterwards; both sides
/// use sequentially consistent operations, so either the sleeper sees the change or it is woken.
class Bell {
public:
  template <typename Condition> void sleepUntil(Condition condition) {
    sleepers.fetch_add(1);
    for (;;) {
      uint32_t seen = rung.load();
      if (condition())
        break;
      futex(FUTEX_WAIT_PRIVATE, seen);
    }
    sleepers.fetch_sub(1);
  }

  /// Wakes at most `most` sleepers; costs a load when there are none.
  void wake(int most) {
    if (sleepers.load() == 0)
      return;
    rung.fetch_add(1);
    futex(FUTEX_WAKE_PRIVATE, static_cast<uint32_t>(most));
  }

private:
  void futex(int operation, uint32_t value) {
    syscall(SYS_futex, &rung, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> rung{0};
  std::atomic<int> sleepers{0};
};

/// While it lives, the signals by which users end a program wait, in this thread and in those that
/// it starts: they are handled by a thread that the runtime has not made, between its own steps.
class EndsBlocked {
public:
  EndsBlocked() {
    sigset_t ends;
    sigemptyset(&ends);
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
      sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
  }
  ~EndsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

/// The tasks [first, end) that are left of a thread's share of a loop, and whether the thread has
/// begun with them: one word.
struct alignas(64) Share {
  static constexpr int64_t mostTasks = INT32_MAX;

  void set(uint64_t first, uint64_t end) {
    word.store(first << 32 | end, std::memory_order_relaxed);
  }

  /// Takes the first task; who is not the owner leaves that to an owner that has begun, and takes
  /// the last one. -1 when none is left.
  int64_t take(bool owner) {
    uint64_t seen = word.load(std::memory_order_relaxed);
    for (;;) {
      uint64_t begun = seen & begunBit, first = (seen & ~begunBit) >> 32, end = seen & UINT32_MAX;
      if (first >= end)
        return -1;
      bool front = owner || !begun;
      uint64_t rest = front ? (first + 1) << 32 | end : first << 32 | (end - 1);
      if (word.compare_exchange_weak(seen, rest | begun | (owner ? begunBit : 0),
                                     std::memory_order_relaxed))
        return static_cast<int64_t>(front ? first : end - 1);
    }
  }

private:
  static constexpr uint64_t begunBit = uint64_t(1) << 63;
  std::atomic<uint64_t> word{0};
};

/// One loop at a time. `left` counts the tasks that nobody has taken, below zero when a thread came
/// in vain. A loop's fields stay as they are until all its tasks have been reported done: who holds
/// a task may read them, whichever loop it was called for, and nobody waits for a worker that came
/// late.
class Pool {
public:
  ~Pool() { stop(); }

  int size() const { return static_cast<int>(workers.size()) + 1; }

  void start(int count) {
    stop();
    shares = std::make_unique<Share[]>(static_cast<size_t>(count));
    EndsBlocked inherited;
    try {
      for (int i = 1; i < count; ++i)
        workers.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error &) {
      int started = size();
      stop();
      fail("cannot start {} threads (the system allows {})", count, started);
    }
  }

  void run(tr_task_fn function, void *data, int64_t number) {
    task = function;
    context = data;
    divide(number);
    left.store(number);
    work.wake(static_cast<int>(std::min<int64_t>(number - 1, INT_MAX)));
    expected += static_cast<uint64_t>(number - take(0));
    auto finished = [&] { return done.load() == expected; };
    if (!finished() && !patience.watch(finished))
      completion.sleepUntil(finished);
  }

private:
  void stop() {
    stopping = true;
    work.wake(INT_MAX);
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
      shares[i].set(tasks * i / parts, tasks * (i + 1) / parts);
  }

  /// The index of a task for this thread, or -1 when none is left: the next of its own share, then
  /// one of another's. Who counts `left` down from above zero owns one of the tasks that the
  /// shares still hold; shares that it finds empty stay so, so one round finds it.
  int64_t claim(int thread) {
    if (left.fetch_sub(1) <= 0)
      return -1;
    for (int i = 0, parts = size();; ++i) {
      Share &share = shares[static_cast<size_t>((thread + i) % parts)];
      if (int64_t index = share.take(/*owner=*/i == 0); index >= 0)
        return index;
    }
  }

  /// Runs tasks until none is left; returns how many.
  int64_t take(int thread) {
    int64_t index = claim(thread), taken = 0;
    if (index < 0 && thread != 0)
      return 0; // perhaps no loop is there
    int64_t begin = profiling() ? profileNow() : 0;
    insideTask = true;
    for (; index >= 0; ++taken)
      task(context, index), index = claim(thread);
    insideTask = false;
    if (profiling())
      profileShare(thread, begin, profileNow(), taken);
    return taken;
  }

  void serve(int thread) {
    Patience patience;
    auto called = [this] { return left.load() > 0 || stopping.load(); };
    for (;;) {
      if (!patience.watch(called))
        work.sleepUntil(called);
      if (stopping.load())
        return;
      // Tasks of the next loop may follow those of this one only after they have been reported.
      if (int64_t taken = take(thread)) {
        done.fetch_add(static_cast<uint64_t>(taken));
        completion.wake(1);
      }
    }
  }

  // One cache line goes from the caller to a worker when a loop starts, one back when it ends.
  alignas(64) std::atomic<int64_t> left{0};
  tr_task_fn task = nullptr;
  void *context = nullptr;
  std::unique_ptr<Share[]> shares;           // one a thread
  alignas(64) std::atomic<uint64_t> done{0}; // tasks that workers have done, of all loops
  Bell completion;
  alignas(64) Bell work;
  std::atomic<bool> stopping{false};
  alignas(64) uint64_t expected = 0; // what `done` will be
  Patience patience;
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

extern "C" void tr_parallel_for(tr_task_fn task, void *context, int64_t count, const tr_work *work,
                                const int64_t *amounts) {
  using namespace transformer::runtime;
  bool traced = profiling() && !insideTask;
  if (traced)
    profileLoopBegin(work, amounts, count);
  if (count <= 1 || count > Share::mostTasks || insideTask || pool.size() == 1) {
    for (int64_t i = 0; i < count; ++i)
      task(context, i);
  } else {
    pool.run(task, context, count);
  }
  if (traced)
    profileLoopEnd();
}
