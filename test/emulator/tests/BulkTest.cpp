//===- BulkTest.cpp - mbarriers, bulk copies and wgmma --------------------===//
#include "test/emulator/tests/Support.h"

#include <bit>
#include <numeric>

extern "C" int cuTensorMapEncodeTiled(void *, unsigned, unsigned, void *, const uint64_t *,
                                      const uint64_t *, const uint32_t *, const uint32_t *, int,
                                      int, int, int);

namespace emulator::tests {
namespace {

constexpr unsigned uint16 = 1, bfloat16 = 9;

class Bulk : public Emulated {
protected:
  /// In the device's memory: a map of a matrix of `rows` rows of `columns` 16-bit elements.
  uint64_t map(uint64_t address, unsigned type, uint64_t columns, uint64_t rows,
               uint32_t boxColumns, uint32_t boxRows, int swizzle) {
    alignas(64) std::byte bytes[128];
    uint64_t sizes[] = {columns, rows}, strides[] = {columns * 2};
    uint32_t box[] = {boxColumns, boxRows}, one[] = {1, 1};
    EXPECT_EQ(cuTensorMapEncodeTiled(bytes, type, 2, reinterpret_cast<void *>(address), sizes,
                                     strides, box, one, 0, swizzle, 0, 0),
              success);
    uint64_t copy = allocate(128);
    EXPECT_EQ(cuMemcpyHtoD_v2(copy, bytes, 128), success);
    return copy;
  }
};

// Thread 0 initialises the barrier and fetches a box at (%r20, %r21); all wait for phase 0.
const std::string declarations =
    ".shared .align 1024 .b8 tile[16384];\n.shared .align 8 .b64 full;\n"
    "mov.u32 %r30, tile;\nmov.u32 %r31, full;\nsetp.eq.u32 %p30, %t, 0;\n";
const std::string initialise = "@%p30 mbarrier.init.shared.b64 [%r31], 1;\nbar.sync 0;\n";
const std::string waitForIt =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p31, [%r31], 0;\n@!%p31 bra WAIT;\n";

std::string fetch(const std::string &map, int bytes, const std::string &to = "%r30") {
  return "@%p30 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r31], " + std::to_string(bytes) +
         ";\n" +
         "@%p30 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [" +
         to + "], [" + map + ", {%r20, %r21}], [%r31];\n";
}

TEST_F(Bulk, BoxesWithSwizzleAndEdges) {
  // A matrix of 100 columns and 20 rows; the box of 64 columns and 8 rows begins 60 columns and 15
  // rows in.
  std::vector<uint16_t> matrix(104 * 20);
  std::iota(matrix.begin(), matrix.end(), 1);
  uint64_t out = allocate(1024);
  ASSERT_EQ(launch(moduleOf(2,
                            declarations + initialise + "mov.u32 %r20, 60; mov.u32 %r21, 15;\n" +
                                fetch("%a0", 1024) + waitForIt + R"(
    shl.b32 %r1, %t, 4;
    add.u32 %r2, %r1, %r30;
    ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];
    mad.wide.u32 %rd1, %t, 16, %a1;
    st.global.v4.b32 [%rd1], {%r3, %r4, %r5, %r6};)",
                            {}, "sm_90"),
                   {map(upload(matrix), uint16, 104, 20, 64, 8, 3), out}, 1, 64),
            success)
      << said;
  auto got = download<uint16_t>(out, 512);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 64; ++column) {
      int chunk =
          column / 8 ^ row; // 128 bytes a row: its 16-byte chunks change places with the row
      bool inside = row + 15 < 20 && column + 60 < 104;
      EXPECT_EQ(got[row * 64 + chunk * 8 + column % 8],
                inside ? matrix[(row + 15) * 104 + column + 60] : 0)
          << row << " " << column;
    }
}

TEST_F(Bulk, WhoDoesNotWaitIsFound) {
  std::vector<uint16_t> matrix(64 * 8, 7);
  uint64_t tensor = map(upload(matrix), uint16, 64, 8, 64, 8, 0);
  std::string start =
      declarations + initialise + "mov.u32 %r20, 0; mov.u32 %r21, 0;\n" + fetch("%a0", 1024);
  EXPECT_EQ(
      launch(moduleOf(1, start + "ld.shared.b32 %r1, [%r30];" + waitForIt, {}, "sm_90"), {tensor}),
      illegalAddress);
  EXPECT_NE(said.find("not waited for"), said.npos) << said;
  cuDevicePrimaryCtxReset_v2(0);
  tensor = map(upload(matrix), uint16, 64, 8, 64, 8, 0);
  EXPECT_EQ(
      launch(moduleOf(1, start + waitForIt + "ld.shared.b32 %r1, [%r30];", {}, "sm_90"), {tensor}),
      success)
      << said;
  // A line, there and back.
  std::vector<uint32_t> line(32);
  std::iota(line.begin(), line.end(), 3);
  uint64_t out = allocate(128);
  EXPECT_EQ(launch(moduleOf(2,
                            declarations + initialise + R"(
    @%p30 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r31], 128;
    @%p30 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r30], [%a0], 128, [%r31];)" +
                                waitForIt + R"(
    @%p30 cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r30], 128;
    @%p30 cp.async.bulk.commit_group;
    @%p30 cp.async.bulk.wait_group.read 0;)",
                            {}, "sm_90"),
                   {upload(line), out}),
            success)
      << said;
  EXPECT_EQ(download<uint32_t>(out, 32), line);
}

TEST_F(Bulk, ProducersAndConsumers) {
  // Warp 0 writes four times what warp 1 adds up; full and empty, each a phase behind the other.
  uint64_t out = allocate(128);
  auto body = [](bool waits) {
    return R"(
    .shared .align 4 .b8 slot[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    mov.u32 %r30, slot; mov.u32 %r31, full; mov.u32 %r32, empty;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r31], 32;
    @%p1 mbarrier.init.shared.b64 [%r32], 32;
    bar.sync 0;
    and.b32 %r1, %t, 31;
    shl.b32 %r2, %r1, 2;
    add.u32 %r3, %r30, %r2;
    mov.u32 %r4, 0;
    mov.u32 %r9, 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra CONSUME;
PRODUCE:
    and.b32 %r5, %r4, 1;
    xor.b32 %r6, %r5, 1;
FREE:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r32], %r6;)" +
           std::string(waits ? "\n@!%p3 bra FREE;" : "") + R"(
    add.u32 %r7, %r4, %r1;
    st.shared.b32 [%r3], %r7;
    mbarrier.arrive.shared.b64 %rd1, [%r31];
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p4, %r4, 4;
    @%p4 bra PRODUCE;
    ret;
CONSUME:
    and.b32 %r5, %r4, 1;
THERE:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r31], %r5;
    @!%p3 bra THERE;
    ld.shared.b32 %r8, [%r3];
    add.u32 %r9, %r9, %r8;
    mbarrier.arrive.shared.b64 %rd1, [%r32];
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p4, %r4, 4;
    @%p4 bra CONSUME;
    mad.wide.u32 %rd2, %r1, 4, %a0;
    st.global.b32 [%rd2], %r9;)";
  };
  ASSERT_EQ(launch(moduleOf(1, body(true), {}, "sm_90"), {out}, 1, 64), success) << said;
  auto got = download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], 6 + 4 * i);
  EXPECT_NE(launch(moduleOf(1, body(false), {}, "sm_90"), {out}, 1, 64), success);
}

// D = A * B' of 64 x 16 and N x 16 numbers that TMA has fetched, K contiguous, swizzled in rows of
// 128 bytes: of 64 columns the 16 from `from` on.
TEST_F(Bulk, WarpgroupProducts) {
  constexpr int n = 32, from = 16;
  auto number = [](int i, int k) { return float((i * 7 + k * 5 + i * k) % 13 - 6); };
  std::vector<uint16_t> a(64 * 64), b(n * 64);
  auto bfloat = [](float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); };
  for (int k = 0; k < 64; ++k) {
    for (int i = 0; i < 64; ++i)
      a[i * 64 + k] = bfloat(number(i, k));
    for (int i = 0; i < n; ++i)
      b[i * 64 + k] = bfloat(number(i + 3, k));
  }
  std::string registers = "{", stores;
  for (int i = 0; i < n / 2; ++i) {
    registers += (i ? ", %f" : "%f") + std::to_string(i);
    stores += "st.global.f32 [%rd9+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
  }
  registers += "}";
  // Start, stride of 1024 bytes between groups of 8 rows, 128-byte swizzle.
  auto descriptor = [&](const std::string &to, const std::string &address) {
    return "add.u32 %r1, " + address + ", " + std::to_string(2 * from) +
           ";\nshr.u32 %r1, %r1, 4;\ncvt.u64.u32 " + to + ", %r1;\nor.b64 " + to + ", " + to +
           ", 0x4000004000010000;\n";
  };
  auto body = [&](const std::string &wait) {
    std::string zero;
    for (int i = 0; i < n / 2; ++i)
      zero += "mov.f32 %f" + std::to_string(i) + ", 0f3F800000;\n";
    std::string product = "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " + registers +
                          ", %rd1, %rd2, %p1, 1, 1, 0, 0;\n";
    return declarations + initialise +
           "mov.u32 %r20, 0; mov.u32 %r21, 0; add.u32 %r29, %r30, 8192;\n" +
           "@%p30 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r31], 12288;\n" +
           "@%p30 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
           "[%r30], "
           "[%a0, {%r20, %r21}], [%r31];\n"
           "@%p30 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
           "[%r29], "
           "[%a1, {%r20, %r21}], [%r31];\n" +
           waitForIt + descriptor("%rd1", "%r30") + descriptor("%rd2", "%r29") + zero +
           "setp.eq.u32 %p1, 1, 1;\nwgmma.fence.sync.aligned;\n" + product + product +
           "wgmma.commit_group.sync.aligned;\n" + wait + "mad.wide.u32 %rd9, %t, " +
           std::to_string(2 * n) + ", %a2;\n" + stores + "wgmma.wait_group.sync.aligned 0;\n";
  };
  auto run = [&](const std::string &wait) {
    uint64_t out = allocate(64 * n * 4);
    EXPECT_EQ(launch(moduleOf(3, body(wait), {}, "sm_90a"),
                     {map(upload(a), bfloat16, 64, 64, 64, 64, 3),
                      map(upload(b), bfloat16, 64, n, 64, n, 3), out},
                     1, 128),
              success)
        << said;
    return download<float>(out, 64 * n);
  };
  auto got = run("wgmma.wait_group.sync.aligned 0;\n");
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < n / 2; ++i) {
      int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2),
          column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      float expected = 1;
      for (int k = from; k < from + 16; ++k)
        expected += 2 * number(row, k) * number(column + 3, k);
      EXPECT_EQ(got[thread * n / 2 + i], expected) << row << " " << column;
    }
  EXPECT_NE(run("")[5], got[5]); // the accumulators are not there yet
}

// D = A * B of 64 x 16 numbers in registers, those of lane 4 i + j two neighbours of row i, and 16
// x 32 numbers in shared memory, N contiguous: twice, once from zero.
TEST_F(Bulk, WarpgroupProductsOfRegisters) {
  constexpr int n = 32, depth = 16;
  auto number = [](int i, int k) { return float((i * 5 + k * 3 + i * k) % 11 - 5); };
  auto bfloat = [](float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); };
  std::vector<uint16_t> a(128 * 8), b(depth * 64);
  for (int thread = 0; thread < 128; ++thread)
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < 2; ++e)
        a[thread * 8 + r * 2 + e] = bfloat(
            number(thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8, r / 2 * 8 + thread % 4 * 2 + e));
  for (int k = 0; k < depth; ++k)
    for (int column = 0; column < 64; ++column)
      b[k * 64 + column] = bfloat(number(k + 2, column));
  std::string sums = "{", stores;
  for (int i = 0; i < n / 2; ++i) {
    sums += (i ? ", %f" : "%f") + std::to_string(i);
    stores += "st.global.f32 [%rd9+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
  }
  auto product = [&](const std::string &adds) {
    return "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " + sums +
           "}, {%r10, %r11, %r12, %r13}, %rd2, " + adds + ", 1, 1, 1;\n";
  };
  auto body = [&](const std::string &before) {
    return declarations + initialise + "mov.u32 %r20, 0; mov.u32 %r21, 0;\n" + fetch("%a1", 2048) +
           waitForIt + R"(
    mad.wide.u32 %rd1, %t, 16, %a0;
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1];
    shr.u32 %r1, %r30, 4;
    cvt.u64.u32 %rd2, %r1;
    or.b64 %rd2, %rd2, 0x4000004000800000;
    setp.eq.u32 %p1, 1, 1;
    setp.eq.u32 %p2, 1, 0;
    wgmma.fence.sync.aligned;
)" + product("%p2") +
           product("%p1") + "wgmma.commit_group.sync.aligned;\n" + before +
           "wgmma.wait_group.sync.aligned 0;\nmad.wide.u32 %rd9, %t, " + std::to_string(2 * n) +
           ", %a2;\n" + stores;
  };
  auto run = [&](const std::string &before, uint64_t out) {
    return launch(moduleOf(3, body(before), {}, "sm_90a"),
                  {upload(a), map(upload(b), bfloat16, 64, depth, 64, depth, 3), out}, 1, 128);
  };
  uint64_t out = allocate(64 * n * 4);
  ASSERT_EQ(run("", out), success) << said;
  auto got = download<float>(out, 64 * n);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < n / 2; ++i) {
      int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2),
          column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      float expected = 0;
      for (int k = 0; k < depth; ++k)
        expected += 2 * number(row, k) * number(k + 2, column);
      EXPECT_EQ(got[thread * n / 2 + i], expected) << row << " " << column;
    }
  EXPECT_EQ(run("add.u32 %r12, %r12, 1;\n", allocate(64 * n * 4)), launchFailed);
  EXPECT_NE(said.find("changed before it was waited for"), said.npos) << said;
}

TEST_F(Bulk, MapsThatCannotBe) {
  alignas(64) std::byte bytes[128];
  uint64_t address = allocate(4096), sizes[] = {64, 8}, strides[] = {128}, odd[] = {120};
  uint32_t box[] = {64, 8}, wide[] = {128, 8}, one[] = {1, 1};
  auto encode = [&](uint64_t at, const uint64_t *stride, const uint32_t *shape, int swizzle) {
    return cuTensorMapEncodeTiled(bytes, uint16, 2, reinterpret_cast<void *>(at), sizes, stride,
                                  shape, one, 0, swizzle, 0, 0);
  };
  EXPECT_EQ(encode(address, strides, box, 3), success);
  EXPECT_EQ(encode(address + 8, strides, box, 3), invalidValue);
  EXPECT_EQ(encode(address, odd, box, 3), invalidValue);
  EXPECT_EQ(encode(address, strides, wide, 3), invalidValue);
  EXPECT_EQ(encode(address, strides, box, 2), invalidValue);
}

} // namespace
} // namespace emulator::tests
