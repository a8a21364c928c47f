//===- ProfileRecord.h - what a profile has recorded ------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PROFILERECORD_H
#define TRANSFORMER_RUNTIME_PROFILERECORD_H

#include "runtime/abi/ModuleAbi.h"

#include <string>
#include <vector>

namespace transformer::runtime {

// Times are nanoseconds since the profile started.

/// A parallel loop, as its caller saw it, or a kernel of a device, whose tasks are its blocks.
struct LoopRecord {
  const tr_work *work; // never null
  const char *layer;   // may be null
  int64_t amounts[TR_MAX_AMOUNTS];
  int64_t tasks;
  int64_t taken;         // of them by the caller
  int64_t begin;         // of the loop
  int64_t busyEnd;       // of the caller's last task
  int64_t end;           // of the loop
  bool onDevice = false; // a kernel
};

/// A worker's tasks of a loop.
struct ShareRecord {
  size_t loop; // index of the loop
  int64_t tasks;
  int64_t begin, end;
};

/// A stretch of the caller's time with a name.
struct ScopeRecord {
  const char *label;
  int64_t begin, end;
};

struct ProfileRecord {
  std::vector<LoopRecord> loops;
  std::vector<ScopeRecord> scopes;
  std::vector<std::vector<ShareRecord>> shares; // by worker: thread 1 is the first
  size_t threads() const { return shares.size() + 1; }
};

/// Floating point operations of a loop, 0 where they are not counted.
int64_t flopsOf(const LoopRecord &loop);

/// Bytes of the tensors that a loop reads and writes, each counted once.
int64_t bytesOf(const LoopRecord &loop);

/// Chrome's trace events. Thread 0's spans are scopes and whole loops, a worker's are its shares; a
/// device's kernels are a thread behind these.
std::string traceText(const ProfileRecord &record);

/// For each label of scope a table of the loops inside, by their label, the largest first.
std::string summaryText(const ProfileRecord &record);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROFILERECORD_H
