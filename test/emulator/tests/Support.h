//===- Support.h - kernels in a few lines -----------------------*- C++ -*-===//
#ifndef EMULATOR_TESTS_SUPPORT_H
#define EMULATOR_TESTS_SUPPORT_H

#include "test/emulator/tests/Cuda.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulator::tests {

constexpr int success = 0, invalidValue = 1, noBinary = 209, invalidPtx = 218, notFound = 500,
              invalidDevice = 101, illegalAddress = 700, misaligned = 716, launchFailed = 719,
              captureUnsupported = 900;

/// A module of kernel "k" with 64-bit parameters p0, p1, ... and `body`, which finds in %t its
/// thread in the block, in %a0, %a1, ... the parameters, and may use %r, %rd, %f, %fd, %h and
/// %p, each with a number below 40. `globals` stands in front of it.
std::string moduleOf(int parameters, const std::string &body, const std::string &globals = {},
                     const char *target = "sm_80");

/// Each test has a context of its own; a variable of the environment that it sets ends with it.
class Emulated : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  void environment(const char *name, const char *value);

  /// Launches "k" and waits; the code of what failed.
  int launch(const std::string &ptx, const std::vector<uint64_t> &parameters, unsigned blocks = 1,
             unsigned threads = 32, unsigned shared = 0);
  /// What the driver said on stderr meanwhile.
  std::string said;

  uint64_t allocate(size_t bytes);
  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = allocate(values.size() * sizeof(T));
    EXPECT_EQ(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)), success);
    return address;
  }
  template <typename T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)), success);
    return values;
  }

  /// What one warp makes of `lines`, which put a result of T's size into %r0, %rd0 or %h0.
  template <typename T>
  std::vector<T> results(const std::string &lines, const char *target = "sm_80") {
    uint64_t out = allocate(32 * sizeof(T));
    int code = launch(moduleOf(1, lines + storeOf(sizeof(T)), {}, target), {out});
    EXPECT_EQ(code, success) << said;
    return code == success ? download<T>(out, 32) : std::vector<T>(32);
  }
  /// The first thread's.
  template <typename T> T result(const std::string &lines) { return results<T>(lines)[0]; }

private:
  static std::string storeOf(size_t bytes);
  std::vector<std::string> variables;
};

} // namespace emulator::tests

#endif // EMULATOR_TESTS_SUPPORT_H
