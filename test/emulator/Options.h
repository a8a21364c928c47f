//===- Options.h - what the environment says --------------------*- C++ -*-===//
#ifndef EMULATOR_OPTIONS_H
#define EMULATOR_OPTIONS_H

namespace emulator {

struct Options {
  int architecture;    ///< EMULATED_SM: 80 or 90 (90)
  int threads;         ///< EMULATED_THREADS: host threads that blocks are spread over (all CPUs)
  int multiprocessors; ///< EMULATED_MULTIPROCESSORS: 0: as many as the architecture's GPUs have (0)
  int devices;         ///< EMULATED_DEVICES: of which a process may open one (1)
  int megabytes;       ///< EMULATED_MEMORY: of the device, in MiB (16384)
  int instructions;    ///< EMULATED_INSTRUCTIONS: millions that a warp may execute (500)
  bool uninitialized;  ///< EMULATED_CHECK_UNINITIALIZED: reads of bytes that nobody wrote (1)
  bool sharedRaces;    ///< EMULATED_CHECK_SHARED_RACES (1)
  bool globalRaces;  ///< EMULATED_CHECK_GLOBAL_RACES: a byte that two threads of a launch write (1)
  bool floatAtomics; ///< EMULATED_CHECK_FLOAT_ATOMICS: sums whose order is chance are faults (0)
  bool statistics;   ///< EMULATED_STATISTICS: a line a kernel at the end, on stderr (0)
};

/// Read anew by readOptions().
extern Options currentOptions;
inline const Options &options() { return currentOptions; }
void readOptions();

} // namespace emulator

#endif // EMULATOR_OPTIONS_H
