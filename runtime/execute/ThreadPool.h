//===- ThreadPool.h - the threads behind tr_parallel_for --------*- C++ -*-===//
//
// One pool a process. A parallel loop's indices come from one counter; idle
// workers watch for work for a short time, then sleep. Which thread runs which
// index never changes a result: that is the compiled code's promise.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_THREADPOOL_H
#define TRANSFORMER_RUNTIME_THREADPOOL_H

#include "runtime/abi/ModuleAbi.h"

namespace transformer::runtime {

/// CPUs that this process may run on (its affinity mask and, when lower, its cgroup's quota).
int availableThreads();

/// Stops the workers and starts `count` - 1 new ones (the caller of a loop is the other one).
/// `count` is at least 1. Not to be called while a loop runs.
void setThreads(int count);

/// Threads that a loop uses, the caller included; 1 until setThreads has been called.
int threads();

/// Calls body(i) once for every 0 <= i < count, on all threads.
template <typename Body> void parallelFor(int64_t count, Body body) {
  auto task = [](void *context, int64_t index) { (*static_cast<Body *>(context))(index); };
  tr_parallel_for(task, &body, count, /*work=*/nullptr, /*amounts=*/nullptr);
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_THREADPOOL_H
