#include "runtime/cuda/MatrixMaps.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/cuda/FakeDriver.h"

using namespace transformer::runtime;

namespace {

const void *const memory = reinterpret_cast<const void *>(uintptr_t(1) << 20);

TEST(MatrixMaps, EachIsMadeOnce) {
  FakeDriver::reset();
  MatrixMaps maps(FakeDriver::driver());
  const void *first = maps.find({memory, 300, 64, 72, 128});
  const auto *words = static_cast<const uint64_t *>(first);
  EXPECT_EQ(uintptr_t(first) % 64, 0u);
  EXPECT_EQ(words[0], uintptr_t(memory));
  EXPECT_EQ(words[1], 64u); // columns first
  EXPECT_EQ(words[2], 300u);
  EXPECT_EQ(words[3], 144u); // bytes
  EXPECT_EQ(maps.find({memory, 300, 64, 72, 128}), first);
  EXPECT_EQ(FakeDriver::get().tensorMaps, 1u);
  EXPECT_NE(maps.find({memory, 300, 64, 72, 64}), first);
  EXPECT_NE(maps.find({memory, 301, 64, 72, 128}), first);
  EXPECT_EQ(FakeDriver::get().tensorMaps, 3u);
  EXPECT_EQ(*static_cast<const uint64_t *>(maps.find({memory, 0, 64, 72, 128})), 0u);
  EXPECT_EQ(FakeDriver::get().tensorMaps, 3u); // of nothing
}

TEST(MatrixMaps, ErrorsSayWhatFailed) {
  FakeDriver::reset();
  MatrixMaps maps(FakeDriver::driver());
  const void *odd = static_cast<const char *>(memory) + 2;
  EXPECT_EQ(errorOf([&] { maps.find({odd, 300, 64, 72, 128}); }),
            "a matrix of 300 x 64 numbers at 0x100002, 72 from row to row: "
            "cuTensorMapEncodeTiled: error 1 of the driver");
  CudaDriver old = FakeDriver::driver();
  old.cuTensorMapEncodeTiled = nullptr;
  MatrixMaps none(old);
  EXPECT_EQ(errorOf([&] { none.find({memory, 300, 64, 72, 128}); }),
            "the NVIDIA driver is too old: libcuda.so.1 has no cuTensorMapEncodeTiled");
}

} // namespace
