//===- Options.cpp - what the environment says ----------------------------===//
#include "test/emulator/Options.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace emulator {
namespace {

int number(const char *name, int otherwise) {
  const char *value = std::getenv(name);
  return value && *value ? std::atoi(value) : otherwise;
}

Options fromEnvironment() {
  int cpus = std::max(1u, std::thread::hardware_concurrency());
  Options result;
  result.architecture = number("EMULATED_SM", 90);
  result.threads = std::max(1, number("EMULATED_THREADS", cpus));
  result.multiprocessors = number("EMULATED_MULTIPROCESSORS", 0);
  result.devices = std::max(1, number("EMULATED_DEVICES", 1));
  result.megabytes = number("EMULATED_MEMORY", 16384);
  result.instructions = number("EMULATED_INSTRUCTIONS", 500);
  result.uninitialized = number("EMULATED_CHECK_UNINITIALIZED", 1);
  result.sharedRaces = number("EMULATED_CHECK_SHARED_RACES", 1);
  result.globalRaces = number("EMULATED_CHECK_GLOBAL_RACES", 1);
  result.floatAtomics = number("EMULATED_CHECK_FLOAT_ATOMICS", 0);
  result.statistics = number("EMULATED_STATISTICS", 0);
  return result;
}

} // namespace

Options currentOptions = fromEnvironment();
void readOptions() { currentOptions = fromEnvironment(); }

} // namespace emulator
