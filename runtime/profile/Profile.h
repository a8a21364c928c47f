//===- Profile.h - where the time goes --------------------------*- C++ -*-===//
//
// With profiling on, every parallel loop leaves a record on its caller and each
// thread's share of it one on that thread. Off, it costs a test of a flag a loop.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_PROFILE_H
#define TRANSFORMER_RUNTIME_PROFILE_H

#include "runtime/abi/ModuleAbi.h"

#include <string>

namespace transformer::runtime {

/// Starts recording for a pool of `threads` threads.
void startProfile(int threads);

namespace detail {
extern bool profileOn;
}

/// True between startProfile and writeProfile.
inline bool profiling() { return detail::profileOn; }

/// A loop of which only the name is known.
constexpr tr_work namedWork(const char *label) {
  return {.label = label,
          .layer = nullptr,
          .shape = "",
          .num_amounts = 0,
          .flops = {},
          .bytes = {},
          .fixed_bytes = 0};
}

/// Nanoseconds since the profile started.
int64_t profileNow();

/// Around a loop of `tasks` tasks, on its caller's thread. `work` is static, may be null, and then
/// `amounts` too.
void profileLoopBegin(const tr_work *work, const int64_t *amounts, int64_t tasks);
void profileLoopEnd();

/// Records that `thread` (0: the caller) took `tasks` tasks of the loop at hand, from `begin` to
/// `end` (profileNow). Each thread only names itself, and ends before the loop does.
void profileShare(int thread, int64_t begin, int64_t end, int64_t tasks);

/// Records a kernel of a device: `blocks` blocks of it, from `begin` to `end`. `name` is static;
/// where `work` is null it is all that is known.
void profileKernel(const char *name, int64_t blocks, const tr_work *work, const int64_t *amounts,
                   int64_t begin, int64_t end);

/// Names a span of the calling thread that is no parallel loop (reading weights, a call of an entry
/// point); ends with the object. `label` is a static string. `layer`, if given, is the layer of the
/// loops inside that name none; it must live until writeProfile.
class ProfileScope {
public:
  explicit ProfileScope(const char *label, const char *layer = nullptr);
  ~ProfileScope();
  ProfileScope(const ProfileScope &) = delete;
  ProfileScope &operator=(const ProfileScope &) = delete;

private:
  const char *label, *outerLayer;
  int64_t begin;
};

/// Stops recording, writes Chrome's trace event format (chrome://tracing, ui.perfetto.dev) and
/// prints a table by label to standard error.
void writeProfile(const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROFILE_H
