//===- Processes.h - the processes that train together ----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PROCESSES_H
#define TRANSFORMER_RUNTIME_PROCESSES_H

#include <cstdint>
#include <vector>

namespace transformer::runtime {

/// The processes that `mpirun` of Open MPI has started, or this one alone. Its library is loaded
/// where there are several, so that programs need none.
class Processes {
public:
  /// Joins the others. Throws Error when the library is missing or its call fails.
  Processes();
  ~Processes();
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;

  int rank() const { return own; }
  int size() const { return count; }
  bool isFirst() const { return own == 0; }
  /// Its number among those on this machine.
  int localRank() const { return local; }

  /// Adds up `values`, `length` of them, over all processes, which must all call this in the same
  /// order: number by number in the order of the ranks, so that all get the same bits. Throws
  /// Error.
  void sum(float *values, int64_t length) const;

  /// What all processes give, `bytes` each, in the order of the ranks. Throws Error.
  std::vector<char> gather(const void *data, int bytes) const;

  /// The largest of what the processes give. Throws Error.
  int64_t largest(int64_t value) const;

  /// Ends all processes, this one with `exitCode`.
  [[noreturn]] void abort(int exitCode) const;

private:
  struct Library;
  const Library *library = nullptr;
  int own = 0, count = 1, local = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROCESSES_H
