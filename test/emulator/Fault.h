//===- Fault.h - what a program did wrong -----------------------*- C++ -*-===//
//
// Thrown where it is found. The launch adds the kernel, the line of the PTX, the
// block and the thread; the driver API returns the code from then on.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_FAULT_H
#define EMULATOR_FAULT_H

#include <cstdio>
#include <string>

namespace emulator {

/// CUresult, as far as it is used here.
enum class Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
};

struct Fault {
  Result code;
  std::string message;
  int lane = -1; ///< which of the warp's threads, if it is one
};

inline std::string text(const char *words) { return words; }
/// printf to a string.
template <typename... Values>
std::string text(const char *format, Values... values)
  requires(sizeof...(Values) > 0)
{
  int size = std::snprintf(nullptr, 0, format, values...);
  std::string result(size, '\0');
  std::snprintf(result.data(), size + 1, format, values...);
  return result;
}

} // namespace emulator

#endif // EMULATOR_FAULT_H
