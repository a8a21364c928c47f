//===- MemoryTest.cpp - spaces, vectors, variables, atomics, copies -------===//
#include "test/emulator/tests/Support.h"

#include <numeric>

namespace emulator::tests {
namespace {

using Memory = Emulated;

std::vector<uint32_t> counted(size_t count, uint32_t from = 0) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST_F(Memory, WidthsAndSigns) {
  uint64_t in = upload<uint8_t>({0xff, 0x80, 0x01, 0x02, 0xfe, 0xff, 0xff, 0xff});
  auto load = [&](const std::string &line) {
    uint64_t out = allocate(8);
    EXPECT_EQ(launch(moduleOf(2, line + "st.global.b64 [%a1], %rd0;"), {in, out}, 1, 1), success)
        << said;
    return download<uint64_t>(out, 1)[0];
  };
  EXPECT_EQ(load("ld.global.u8 %h1, [%a0]; cvt.u64.u16 %rd0, %h1;"), 0xffu);
  EXPECT_EQ(load("ld.global.s8 %h1, [%a0]; cvt.s64.s16 %rd0, %h1;"), ~uint64_t{0});
  EXPECT_EQ(load("ld.global.u16 %rd0, [%a0+2];"), 0x201u);
  EXPECT_EQ(load("ld.global.s32 %rd0, [%a0+4];"), uint64_t(-2));
  EXPECT_EQ(load("ld.global.nc.b64 %rd0, [%a0];"), 0xfffffffe020180ffull);
  EXPECT_EQ(load("ld.global.v2.b32 {%r1, %r2}, [%a0]; mov.b64 %rd0, {%r2, %r1};"),
            0x020180fffffffffeull);
  EXPECT_EQ(load("ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%a0]; cvt.u64.u16 %rd0, %h3;"), 1u);
  EXPECT_EQ(load("add.u64 %rd1, %a0, 8; ld.global.b32 %r1, [%rd1+-4]; cvt.u64.u32 %rd0, %r1;"),
            0xfffffffeu);
}

TEST_F(Memory, VectorsOfAllLanes) {
  uint64_t in = upload(counted(128)), out = allocate(512);
  ASSERT_EQ(launch(moduleOf(2, R"(
    mad.wide.u32 %rd1, %t, 16, %a0;
    mad.wide.u32 %rd2, %t, 16, %a1;
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
    st.global.v4.b32 [%rd2], {%r4, %r3, %r2, %r1};)"),
                   {in, out}),
            success)
      << said;
  auto got = download<uint32_t>(out, 128);
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(got[i], i / 4 * 4 + 3 - i % 4);
}

TEST_F(Memory, SharedStaticAndDynamic) {
  // Reverses a block's numbers through both; 64 threads, two warps.
  uint64_t in = upload(counted(64)), out = allocate(256);
  ASSERT_EQ(
      launch(moduleOf(2, R"(
    mad.wide.u32 %rd1, %t, 4, %a0;
    ld.global.b32 %r1, [%rd1];
    shl.b32 %r2, %t, 2;
    mov.u32 %r3, fixed;
    add.u32 %r4, %r3, %r2;
    st.shared.b32 [%r4], %r1;
    bar.sync 0;
    sub.u32 %r5, 252, %r2;
    add.u32 %r6, %r3, %r5;
    ld.shared.b32 %r7, [%r6];
    mov.u32 %r8, dynamic;
    add.u32 %r9, %r8, %r2;
    st.shared.b32 [%r9], %r7;
    bar.sync 0;
    cvta.shared.u64 %rd3, %rd4;
    mov.u64 %rd4, dynamic;
    cvta.shared.u64 %rd3, %rd4;
    mad.wide.u32 %rd5, %t, 4, %rd3;
    ld.b32 %r10, [%rd5];
    mad.wide.u32 %rd6, %t, 4, %a1;
    st.global.b32 [%rd6], %r10;)",
                      ".shared .align 4 .b8 fixed[256];\n.extern .shared .align 16 .b8 dynamic[];"),
             {in, out}, 1, 64, 256),
      success)
      << said;
  auto got = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], 63 - i);
}

TEST_F(Memory, LocalMemoryOfEachThread) {
  auto got = results<uint32_t>(R"(
    .local .align 8 .b8 depot[16];
    mov.b64 %rd1, depot;
    cvta.local.u64 %rd2, %rd1;
    st.b32 [%rd2+4], %t;
    ld.local.b32 %r0, [%rd1+4];)");
  EXPECT_EQ(got, counted(32));
}

TEST_F(Memory, Variables) {
  uint64_t out = allocate(16);
  std::string ptx = moduleOf(1, R"(
    ld.global.b64 %rd1, [pointer];
    ld.global.f32 %f1, [%rd1];
    st.global.f32 [%a0], %f1;
    ld.const.b32 %r1, [table+4];
    st.global.b32 [%a0+4], %r1;
    ld.global.b32 %r2, [empty+8];
    st.global.b32 [%a0+8], %r2;
    st.global.b32 [empty], 5;)",
                             ".global .align 4 .f32 numbers[2] = {0f3F800000, 0f40000000};\n"
                             ".global .align 8 .u64 pointer = generic(numbers)+4;\n"
                             ".const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 1};\n"
                             ".global .align 4 .b8 empty[12];\n");
  ASSERT_EQ(launch(ptx, {out}, 1, 1), success) << said;
  EXPECT_EQ(download<uint32_t>(out, 3), (std::vector<uint32_t>{0x40000000, 0x102, 0}));
}

TEST_F(Memory, Atomics) {
  uint64_t out = upload<uint32_t>({0, 100, 7, 0});
  ASSERT_EQ(launch(moduleOf(1, R"(
    atom.global.add.u32 %r1, [%a0], 1;
    red.global.min.u32 [%a0+4], %t;
    atom.global.cas.b32 %r2, [%a0+8], 7, 9;
    red.global.add.f32 [%a0+12], 0f3F800000;)"),
                   {out}, 4, 64),
            success)
      << said;
  EXPECT_EQ(download<uint32_t>(out, 4), (std::vector<uint32_t>{256, 0, 9, 0x43800000}));
}

TEST_F(Memory, AsynchronousCopies) {
  uint64_t in = upload(counted(128, 5)), out = allocate(512);
  // The second half of what each thread copies is zeros.
  ASSERT_EQ(launch(moduleOf(2, R"(
    .shared .align 16 .b8 tile[512];
    shl.b32 %r1, %t, 4;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    mad.wide.u32 %rd1, %t, 16, %a0;
    cp.async.cg.shared.global [%r3], [%rd1], 16, 8;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];
    mad.wide.u32 %rd2, %t, 16, %a1;
    st.global.v4.b32 [%rd2], {%r4, %r5, %r6, %r7};)"),
                   {in, out}),
            success)
      << said;
  auto got = download<uint32_t>(out, 128);
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(got[i], i % 4 < 2 ? i + 5 : 0) << i;
}

// Loops whose places count down or up keep what is only an address with the offset.
TEST_F(Memory, BasesOutsideOfSharedMemory) {
  uint64_t in = upload(counted(4, 5)), out = allocate(4);
  ASSERT_EQ(launch(moduleOf(2, R"(
    .shared .align 16 .b8 tile[128];
    mov.u64 %rd1, tile;
    sub.u64 %rd2, %rd1, 20480;
    setp.eq.u32 %p1, %t, 0;
    @%p1 cp.async.cg.shared.global [%rd2+20480], [%a0], 16;
    cp.async.wait_all;
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd2+20480];
    @%p1 st.global.b32 [%a1], %r1;)"),
                   {in, out}),
            success)
      << said;
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 5u);
}

TEST_F(Memory, GroupsOfCopiesArriveInOrder) {
  uint64_t in = upload(counted(8)), out = allocate(4);
  // The first of two groups has arrived when one may be under way.
  ASSERT_EQ(launch(moduleOf(2, R"(
    .shared .align 16 .b8 tile[32];
    mov.u32 %r1, tile;
    cp.async.ca.shared.global [%r1], [%a0], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r1+4], [%a0+4], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.b32 %r2, [%r1];
    st.global.b32 [%a1], %r2;
    cp.async.wait_all;)"),
                   {in, out}, 1, 1),
            success)
      << said;
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 0u);
}

} // namespace
} // namespace emulator::tests
