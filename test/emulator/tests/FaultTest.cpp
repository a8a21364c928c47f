//===- FaultTest.cpp - each fault is found, and its correct twin is none --===//
#include "test/emulator/tests/Support.h"

#include <numeric>

namespace emulator::tests {
namespace {

class Faults : public Emulated {
protected:
  /// The launch fails with `code` and says `what`, then with the next context `correct` does not.
  void expect(int code, const std::string &what, const std::string &wrong,
              const std::string &correct, unsigned threads = 64, unsigned blocks = 1) {
    EXPECT_EQ(run(wrong, threads, blocks), code) << said;
    EXPECT_NE(said.find(what), said.npos) << said;
    EXPECT_NE(said.find("kernel k, line "), said.npos) << said;
    cuDevicePrimaryCtxReset_v2(0);
    EXPECT_EQ(run(correct, threads, blocks), success) << said;
    cuDevicePrimaryCtxReset_v2(0);
  }

  /// p0 has 1024 numbers, p1 room for as many.
  int run(const std::string &body, unsigned threads, unsigned blocks) {
    std::vector<uint32_t> numbers(1024);
    std::iota(numbers.begin(), numbers.end(), 0);
    return launch(moduleOf(2, ".shared .align 16 .b8 tile[4096];\nmov.u32 %r30, tile;\n"
                              "shl.b32 %r31, %t, 2;\nadd.u32 %r32, %r30, %r31;\n"
                              "mad.wide.u32 %rd30, %t, 4, %a0;\nmad.wide.u32 %rd31, %t, 4, %a1;\n" +
                                  body),
                  {upload(numbers), allocate(4096)}, blocks, threads);
  }
};

TEST_F(Faults, RunsForEver) {
  environment("EMULATED_INSTRUCTIONS", "1");
  expect(702, "no end after 1 million instructions of a warp (EMULATED_INSTRUCTIONS)",
         "again:\nadd.u32 %r1, %r1, 1;\nbra again;",
         "mov.u32 %r1, 0;\nagain:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 200000;\n"
         "@%p1 bra again;");
  // Waits for what nobody writes.
  expect(702, "kernel k, line ",
         "again:\nld.global.b32 %r1, [%a0];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra again;",
         "again:\nld.global.b32 %r1, [%a0+4];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra again;");
}

TEST_F(Faults, BeyondAnAllocation) {
  expect(illegalAddress, "beyond the end of the allocation of 4096 bytes",
         "ld.global.b32 %r1, [%rd30+3844];", "ld.global.b32 %r1, [%rd30+3840];");
  expect(illegalAddress, "4 bytes before the allocation", "ld.global.b32 %r1, [%rd30+-4];",
         "ld.global.b32 %r1, [%rd30];");
  expect(illegalAddress, "thread (63, 0, 0)", "st.global.b32 [%rd31+3844], 1;",
         "st.global.b32 [%rd31+3840], 1;");
}

TEST_F(Faults, NoAddressAtAll) {
  expect(illegalAddress, "no address of the device's memory",
         "mov.u64 %rd1, 64; ld.global.b32 %r1, [%rd1];",
         "mov.u64 %rd1, %a0; ld.global.b32 %r1, [%rd1];");
}

TEST_F(Faults, Misaligned) {
  expect(misaligned, "not aligned", "ld.global.b32 %r1, [%rd30+2];",
         "ld.global.b16 %h1, [%rd30+2];");
  expect(misaligned, "16 bytes", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a0+8];",
         "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a0+16];");
  expect(misaligned, "8 bytes", "st.shared.b64 [%r32], 0;",
         "shl.b32 %r1, %t, 3; add.u32 %r1, %r1, %r30; st.shared.b64 [%r1], 0;");
}

TEST_F(Faults, MemoryInFrontOfEarlierKernelsEnd) {
  expect(illegalAddress, "in front of griddepcontrol.wait",
         "ld.global.b32 %r1, [%rd30];\ngriddepcontrol.wait;",
         "prefetch.global.L2 [%rd30];\ngriddepcontrol.wait;\nld.global.b32 %r1, [%rd30];");
  expect(illegalAddress, "in front of griddepcontrol.wait",
         "setp.lt.u32 %p1, %t, 32;\n@%p1 bra wait;\nst.global.b32 [%rd31], "
         "1;\nwait:\ngriddepcontrol.wait;",
         "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;\nst.global.b32 [%rd31], 1;");
}

TEST_F(Faults, NeverWritten) {
  expect(illegalAddress, "global memory", "ld.global.b32 %r1, [%rd31];",
         "st.global.b32 [%rd31], 1; ld.global.b32 %r1, [%rd31];");
  expect(illegalAddress, "shared memory", "ld.shared.b32 %r1, [%r32];",
         "st.shared.b32 [%r32], 1; ld.shared.b32 %r1, [%r32];");
  expect(illegalAddress, "shared memory", "st.shared.b16 [%r32], 1; ld.shared.b32 %r1, [%r32];",
         "st.shared.b16 [%r32], 1; ld.shared.b16 %h1, [%r32];");
  expect(illegalAddress, "local memory", ".local .b32 x; ld.local.b32 %r1, [x];",
         ".local .b32 x; st.local.b32 [x], 1; ld.local.b32 %r1, [x];");
}

TEST_F(Faults, NeverWrittenMayBeAllowed) {
  environment("EMULATED_CHECK_UNINITIALIZED", "0");
  EXPECT_EQ(run("ld.global.b32 %r1, [%rd31]; ld.shared.b32 %r1, [%r32];", 64, 1), success) << said;
}

TEST_F(Faults, SharedRaces) {
  const std::string read =
      "xor.b32 %r1, %r31, 128; add.u32 %r1, %r1, %r30; ld.shared.b32 %r2, [%r1];\n";
  // Of another warp, with a barrier and without.
  expect(illegalAddress, "race:",
         "st.shared.b32 [%r32], 1; bar.warp.sync -1; st.shared.b32 [%r32+512], 1;"
         "bar.sync 0; st.shared.b32 [%r32], 2;" +
             read,
         "st.shared.b32 [%r32], 1; bar.sync 0;" + read);
  // What others may still read is overwritten.
  expect(illegalAddress,
         "race:", "st.shared.b32 [%r32], 1; bar.sync 0;" + read + "st.shared.b32 [%r32], 2;",
         "st.shared.b32 [%r32], 1; bar.sync 0;" + read + "bar.sync 0; st.shared.b32 [%r32], 2;");
  // Two threads write the same bytes, the same number even.
  expect(illegalAddress, "race:", "st.shared.b32 [%r30], 1;",
         "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.b32 [%r30], 1;");
  // Of another lane of the warp.
  const std::string neighbour =
      "xor.b32 %r1, %r31, 4; add.u32 %r1, %r1, %r30; ld.shared.b32 %r2, [%r1];\n";
  expect(illegalAddress, "race:", "st.shared.b32 [%r32], 1;" + neighbour,
         "st.shared.b32 [%r32], 1; bar.warp.sync -1;" + neighbour);
  // Halves of a word are two things.
  EXPECT_EQ(run("shl.b32 %r1, %t, 1; add.u32 %r1, %r1, %r30; st.shared.b16 [%r1], 7;", 64, 1),
            success)
      << said;
}

TEST_F(Faults, SharedRacesOfPartsOfWords) {
  // Neighbouring threads' halves, what one reads beside what the other writes, then all four bytes.
  const std::string halves =
      "mad.lo.u32 %r1, %t, 2, %r30; and.b32 %r3, %t, 1;"
      "setp.eq.u32 %p1, %r3, 1; sub.u32 %r4, %r1, %r3; sub.u32 %r4, %r4, %r3;"
      "st.shared.b16 [%r1], 7; bar.sync 0; @%p1 ld.shared.b16 %h1, [%r1];"
      "@!%p1 st.shared.b16 [%r1], 8;";
  const std::string words = "bar.sync 0; ld.shared.b32 %r2, [%r4]; bar.sync 0;"
                            "@%p1 st.shared.b32 [%r4], 9;";
  expect(illegalAddress, "race:", halves + "@%p1 ld.shared.b16 %h1, [%r1+-2];", halves + words);
  expect(illegalAddress,
         "race:", halves + "@!%p1 ld.shared.b32 %r2, [%r4]; @%p1 st.shared.b8 [%r1+1], 1;",
         halves + "@!%p1 ld.shared.b16 %h1, [%r4]; @%p1 st.shared.b8 [%r1+1], 1;");
  expect(illegalAddress, "race:", halves + "@%p1 st.shared.b32 [%r4], 9;", halves + words);
  expect(illegalAddress, "race:", halves + words + "@!%p1 ld.shared.b8 %h1, [%r4+3];",
         halves + words + "bar.sync 0; @!%p1 ld.shared.b8 %h1, [%r4+3];");
  // A reader that the last writer knew of, and one that it did not.
  const std::string others = "xor.b32 %r1, %r31, 128; add.u32 %r1, %r1, %r30;"
                             "st.shared.b32 [%r32], 1; bar.sync 0; ld.shared.b32 %r2, [%r1];";
  expect(illegalAddress, "race:", others + "st.shared.b32 [%r32], 2;",
         others + "bar.sync 0; st.shared.b32 [%r32], 2; bar.sync 0; st.shared.b32 [%r1], 3;");
}

TEST_F(Faults, GlobalRaces) {
  expect(illegalAddress, "of block", "st.global.b32 [%a1], 1;",
         "setp.eq.u32 %p1, %t, 0; @%p1 st.global.b32 [%a1], 1;");
  const std::string byBlock = "mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd31, %r1, 256, %rd31;";
  expect(illegalAddress, "of block", "st.global.b32 [%rd31], 1;",
         byBlock + "st.global.b32 [%rd31], 1;", 64, 2);
  EXPECT_EQ(run(byBlock + "st.global.b32 [%rd31], 1; st.global.b32 [%rd31], 2;", 64, 2), success)
      << said;
  environment("EMULATED_CHECK_GLOBAL_RACES", "0");
  EXPECT_EQ(run("st.global.b32 [%a1], 1;", 64, 2), success) << said;
}

TEST_F(Faults, ReadsOfWhatAnotherBlockWrites) {
  environment("EMULATED_THREADS", "1");
  const std::string block =
      "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.b32 [%rd31], 1;";
  expect(illegalAddress, "that thread 0 of block 0 writes",
         block + "@!%p1 ld.global.b32 %r2, [%rd31];", block + "@%p1 ld.global.b32 %r2, [%rd31];",
         64, 2);
}

TEST_F(Faults, BarriersThatNotAllReach) {
  expect(launchFailed, "have exited",
         "setp.ge.u32 %p1, %t, 32; @%p1 bra END; bar.sync 0;\nEND:", "bar.sync 0;");
  expect(launchFailed, "have exited", "setp.eq.u32 %p1, %t, 3; @%p1 exit; bar.sync 0;",
         "bar.sync 0;");
  expect(launchFailed, "no thread can go on",
         "setp.ge.u32 %p1, %t, 32; @%p1 bra ELSE; bar.sync 0; bra END;\nELSE: bar.sync 1;\nEND:",
         "setp.ge.u32 %p1, %t, 32; @%p1 bra ELSE; bar.sync 0; bra END;\nELSE: bar.sync 0;\nEND:");
  expect(launchFailed, "no thread can go on", "setp.ge.u32 %p1, %t, 32; @!%p1 bar.sync 1, 64;",
         "setp.ge.u32 %p1, %t, 32; @!%p1 bar.sync 1, 32;");
  // A shuffle that waits for lanes that are elsewhere.
  expect(launchFailed, "no thread can go on",
         "setp.lt.u32 %p1, %t, 9; @%p1 bra A; bar.sync 0; bra END;\n"
         "A: shfl.sync.idx.b32 %r1, %t, 0, 31, -1; bar.sync 0;\nEND:",
         "setp.lt.u32 %p1, %t, 9; shfl.sync.idx.b32 %r1, %t, 0, 31, -1; bar.sync 0;");
}

TEST_F(Faults, NamedBarriersOrderWhoArrives) {
  // The first warp produces, the second consumes.
  const std::string produce = "setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME; st.shared.b32 [%r32], 1;";
  const std::string consume = "bra END;\nCONSUME:", end = "ld.shared.b32 %r1, [%r32+-128];\nEND:";
  expect(illegalAddress, "race", produce + consume + end,
         produce + "bar.arrive 1, 64;" + consume + "bar.sync 1, 64;" + end);
}

TEST_F(Faults, CopiesThatNobodyWaitsFor) {
  const std::string copy = "cp.async.ca.shared.global [%r32], [%rd30], 4; cp.async.commit_group;";
  expect(illegalAddress, "not waited for", copy + "ld.shared.b32 %r1, [%r32]; cp.async.wait_all;",
         copy + "cp.async.wait_all; ld.shared.b32 %r1, [%r32];");
  expect(illegalAddress, "not waited for",
         copy + "cp.async.wait_group 1; ld.shared.b32 %r1, [%r32];",
         copy + "cp.async.wait_group 0; ld.shared.b32 %r1, [%r32];");
  expect(launchFailed, "not waited for", copy, copy + "cp.async.wait_all;");
  // Each thread waits for its own only: a barrier is between it and the others.
  const std::string other =
      "xor.b32 %r1, %r31, 128; add.u32 %r1, %r1, %r30; ld.shared.b32 %r2, [%r1];";
  expect(illegalAddress, "", copy + "cp.async.wait_all;" + other,
         copy + "cp.async.wait_all; bar.sync 0;" + other);
}

TEST_F(Faults, AtomicSumsOfFloats) {
  environment("EMULATED_CHECK_FLOAT_ATOMICS", "1");
  expect(launchFailed, "order is chance", "red.global.add.f32 [%a0], 0f3F800000;",
         "red.global.add.u32 [%a0], 1;");
}

TEST_F(Faults, WhatIsNoPtx) {
  EXPECT_EQ(launch(moduleOf(0, "frobnicate.b32 %r1, %r2;"), {}), invalidPtx);
  EXPECT_NE(said.find("kernel k, line 17: frobnicate.b32: the emulator has no such instruction"),
            said.npos)
      << said;
  EXPECT_EQ(launch(moduleOf(0, "add.u32 %r1, %rd1, 2;"), {}), invalidPtx);
  EXPECT_NE(said.find("expected an operand of 32 bits, found 64"), said.npos) << said;
  EXPECT_EQ(launch(moduleOf(0, "bra NOWHERE;"), {}), invalidPtx);
  EXPECT_EQ(launch(moduleOf(0, "ld.global.b32 %r1, [nothing];"), {}), invalidPtx);
  EXPECT_EQ(launch(moduleOf(0, "mov.b32 %r1, "), {}), invalidPtx);
  EXPECT_EQ(launch("\x7f"
                   "ELF",
                   {}),
            noBinary);
  environment("EMULATED_SM", "80");
  EXPECT_EQ(launch(moduleOf(0, "", "", "sm_90a"), {}), noBinary);
  EXPECT_EQ(launch(moduleOf(0, "", "", "sm_80"), {}), success);
}

} // namespace
} // namespace emulator::tests
