//===- Profile.h - where the time goes --------------------------*- C++ -*-===//
//
// With profiling on, every parallel loop leaves a span on its caller and one
// on each worker. Off, it costs one test of a flag a loop.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_PROFILE_H
#define TRANSFORMER_RUNTIME_PROFILE_H

#include "runtime/ModuleAbi.h"

#include <string>

namespace transformer::runtime {

/// Starts recording spans for a pool of `threads` threads.
void startProfile(int threads);

namespace detail {
extern bool profileOn;
}

/// True between startProfile and writeProfile.
inline bool profiling() { return detail::profileOn; }

/// Microseconds since the profile started.
double profileNow();

/// Records that `thread` (0: the caller) worked on `label` (a static string, may be null) from
/// `begin` to `end` microseconds, in a loop of `count` tasks. Each thread only names itself.
void profileSpan(int thread, const char *label, double begin, double end, int64_t count);

/// Names a span of the calling thread that is no parallel loop (reading weights, a whole call);
/// ends with the object. `label` is a static string.
class ProfileScope {
public:
  explicit ProfileScope(const char *label);
  ~ProfileScope();

private:
  const char *label;
  double begin;
};

/// Stops recording and writes Chrome's trace event format (chrome://tracing, ui.perfetto.dev).
void writeProfile(const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROFILE_H
