//===- Driver.h - the state behind the driver API ---------------*- C++ -*-===//
//
// Work of a stream runs when somebody waits for it, no sooner: a program that
// does not wait sees what was there before. A kernel's fault is then the result
// of every call, as on a GPU, until the context is reset.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_DRIVER_DRIVER_H
#define EMULATOR_DRIVER_DRIVER_H

#include "test/emulator/Fault.h"
#include "test/emulator/Options.h"
#include "test/emulator/execute/Program.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

#define EMULATED_CUDA extern "C" __attribute__((visibility("default"))) int

namespace emulator {

using Work = std::function<void()>;

struct Graph {
  std::vector<Work> work;
  /// Of nodes that were added one by one: whether they are behind the one before, and whether their
  /// kernels wait for it by themselves.
  std::vector<bool> isBehind, waits;
};

struct Stream {
  bool blocking = true; ///< the null stream and this one wait for each other
  std::deque<Work> work;
  std::unique_ptr<Graph> captured; ///< while it captures
};

struct Event {
  std::optional<std::chrono::steady_clock::time_point> time;
  Stream *stream = nullptr; ///< while its record is among the stream's work
  uint64_t records = 0;
};

struct Function {
  Kernel *kernel;
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialized = false;
  int retained = 0;
  int device = 0;             ///< whose context it is
  std::optional<Fault> fault; ///< the context's
  Stream null;
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<Graph *> graphs, executables;
  std::map<LoadedModule *, std::map<std::string, Function>> modules;
  std::map<const std::byte *, size_t> pinned; ///< host memory, by its start
};

Driver &driver();
inline bool isDevice(int device) { return device >= 0 && device < options().devices; }
extern thread_local bool contextIsCurrent;

/// Prints "emulated CUDA: what: message" and returns the code.
int report(const char *what, const Fault &fault);

/// Runs the work of a stream; what fails is the context's fault, too.
void flush(Stream &stream);
void flushAll();
/// Those that the null stream waits for.
void flushBlocking();
/// The stream of a handle, with what it has to wait for done. Throws a Fault.
Stream &streamOf(void *handle);
void enqueue(void *stream, Work work);
/// Throws if any stream captures: the call would end the capture.
void refuseWhileCapturing();
bool capturing(void *stream);
/// With a copy of its parameters. Throws a Fault when it cannot be launched so.
Launch checkedLaunch(Function *function, const uint32_t *grid, const uint32_t *block,
                     uint32_t shared, void **parameters, void **extra);
void resetContext();

template <typename Body> int inContext(const char *what, Body body) {
  std::lock_guard lock(driver().mutex);
  if (!driver().initialized)
    return int(Result::NotInitialized);
  if (!contextIsCurrent)
    return report(what, {Result::InvalidContext, "no context is current to this thread"});
  if (driver().fault)
    return int(driver().fault->code);
  try {
    body();
    return int(Result::Success);
  } catch (const Fault &fault) {
    return report(what, fault);
  }
}

inline void require(bool condition, Result code, const std::string &message) {
  if (!condition)
    throw Fault{code, message};
}

} // namespace emulator

#endif // EMULATOR_DRIVER_DRIVER_H
