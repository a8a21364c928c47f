//===- ControlTest.cpp - divergence, calls, what lanes do together --------===//
#include "test/emulator/tests/Support.h"

namespace emulator::tests {
namespace {

using Control = Emulated;

TEST_F(Control, BranchesComeTogetherAgain) {
  // The blocks of the two sides in the order in which LLVM sometimes writes them: the join first.
  auto got = results<uint32_t>(R"(
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra EVEN;
    bra.uni ODD;
JOIN:
    activemask.b32 %r3;
    add.u32 %r0, %r2, %r3;
    bra.uni DONE;
EVEN:
    mov.u32 %r2, 100;
    bra.uni JOIN2;
ODD:
    mov.u32 %r2, 200;
JOIN2:
    shfl.sync.idx.b32 %r4, %r2, 0, 31, -1;
    bra.uni JOIN;
DONE:)");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], (i % 2 ? 200u : 100u) + 0xffffffffu) << i;
}

TEST_F(Control, LoopsOfDifferentLength) {
  // Lane i adds i, i times; the inner loop of odd lanes counts on.
  auto got = results<uint32_t>(R"(
    mov.u32 %r0, 0;
    mov.u32 %r1, 0;
OUTER:
    setp.ge.u32 %p1, %r1, %t;
    @%p1 bra END;
    add.u32 %r0, %r0, %t;
    and.b32 %r2, %r1, 3;
INNER:
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra NEXT;
    add.u32 %r0, %r0, 1;
    sub.u32 %r2, %r2, 1;
    bra INNER;
NEXT:
    add.u32 %r1, %r1, 1;
    bra.uni OUTER;
END:)");
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t expected = i * i;
    for (uint32_t k = 0; k < i; ++k)
      expected += k % 4;
    EXPECT_EQ(got[i], expected) << i;
  }
}

TEST_F(Control, ALaneThatWaitsForAnotherOfItsWarp) {
  // Lane 0 spins, furthest behind, until lane 1 has stored: both must get turns.
  uint64_t flag = upload<uint32_t>({0});
  EXPECT_EQ(launch(moduleOf(1, R"(
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra WRITE;
SPIN:
    atom.global.or.b32 %r1, [%a0], 0;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    ret;
WRITE:
    atom.global.exch.b32 %r1, [%a0], 1;)"),
                   {flag}, 1, 2),
            success)
      << said;
}

TEST_F(Control, BranchesByIndexAndCalls) {
  const char *globals = R"(
.func (.param .b32 result) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    ld.param.b32 %r1, [x];
    setp.gt.u32 %p1, %r1, 20;
    @%p1 bra BIG;
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
BIG:
    st.param.b32 [result], 1;
    ret;
})";
  uint64_t out = allocate(128);
  ASSERT_EQ(launch(moduleOf(1, R"(
    rem.u32 %r1, %t, 3;
LIST: .branchtargets L0, L1, L2;
    brx.idx %r1, LIST;
L0:
    mov.u32 %r2, 10;
    bra.uni CALL;
L1:
    mov.u32 %r2, 15;
    bra.uni CALL;
L2:
    mov.u32 %r2, 30;
CALL:
    { .param .b32 x0; .param .b32 r0;
      st.param.b32 [x0], %r2;
      call.uni (r0), twice, (x0);
      ld.param.b32 %r0, [r0]; }
    mad.wide.u32 %rd1, %t, 4, %a0;
    st.global.b32 [%rd1], %r0;)",
                            globals),
                   {out}),
            success)
      << said;
  auto got = download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], (i % 3 == 0 ? 20u : i % 3 == 1 ? 30u : 1u)) << i;
}

TEST_F(Control, Shuffles) {
  auto lane = [&](const std::string &line, uint32_t i) { return results<uint32_t>(line)[i]; };
  EXPECT_EQ(lane("shfl.sync.bfly.b32 %r0, %t, 5, 31, -1;", 9), 12u);
  EXPECT_EQ(lane("shfl.sync.up.b32 %r0, %t, 2, 0, -1;", 9), 7u);
  EXPECT_EQ(lane("shfl.sync.up.b32 %r0, %t, 2, 0, -1;", 1), 1u);
  EXPECT_EQ(lane("shfl.sync.down.b32 %r0, %t, 4, 31, -1;", 30), 30u);
  EXPECT_EQ(lane("shfl.sync.down.b32 %r0|%p1, %t, 4, 31, -1; selp.b32 %r0, %r0, 77, %p1;", 30),
            77u);
  // Segments of 8 lanes: c = 0x181f.
  EXPECT_EQ(lane("shfl.sync.idx.b32 %r0, %t, 3, 0x181f, -1;", 21), 19u);
}

TEST_F(Control, Votes) {
  EXPECT_EQ(results<uint32_t>("setp.lt.u32 %p1, %t, 5; vote.sync.ballot.b32 %r0, %p1, -1;")[7],
            31u);
  EXPECT_EQ(result<uint32_t>("setp.lt.u32 %p1, %t, 5; vote.sync.all.pred %p2, %p1, -1;"
                             "vote.sync.any.pred %p3, !%p1, -1; selp.b32 %r0, 2, 0, %p2;"
                             "selp.b32 %r1, 1, 0, %p3; add.u32 %r0, %r0, %r1;"),
            1u);
  EXPECT_EQ(results<uint32_t>("redux.sync.add.s32 %r0, %t, -1;")[3], 31u * 16);
  EXPECT_EQ(results<uint32_t>("redux.sync.max.u32 %r0, %t, -1;")[3], 31u);
  EXPECT_EQ(results<uint32_t>("shr.u32 %r1, %t, 4; match.any.sync.b32 %r0, %r1, -1;")[20],
            0xffff0000u);
  EXPECT_EQ(results<uint32_t>("elect.sync %r0|%p1, -1; selp.b32 %r0, 1, 0, %p1;", "sm_90"), [] {
    std::vector<uint32_t> first(32);
    first[0] = 1;
    return first;
  }());
}

TEST_F(Control, PartsOfAWarp) {
  // Half of the lanes, apart from the others, each half with its own members.
  auto got = results<uint32_t>(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    redux.sync.add.u32 %r0, %t, 0xffff0000;
    bra.uni END;
LOW:
    redux.sync.add.u32 %r0, 1, 0x0000ffff;
END:)");
  EXPECT_EQ(got[0], 16u);
  EXPECT_EQ(got[31], 31u * 16 - 120);
}

TEST_F(Control, GridsAndBlocks) {
  uint64_t out = allocate(5 * 70 * 4);
  ASSERT_EQ(launch(moduleOf(1, R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r3, %r1, %r2, %t;
    mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r5, %r3, 10, %r4;
    mad.wide.u32 %rd1, %r3, 4, %a0;
    st.global.u32 [%rd1], %r5;)"),
                   {out}, 5, 70),
            success)
      << said;
  auto got = download<uint32_t>(out, 350);
  for (uint32_t i = 0; i < 350; ++i)
    EXPECT_EQ(got[i], i * 10 + 5);
}

TEST_F(Control, RegistersOfWarps) {
  // Two warpgroups have 128 registers each where they have 256 together.
  auto body = [](const char *fewer, const char *more) {
    std::string ptx = moduleOf(
        0,
        "setp.lt.u32 %p1, %t, 128;\n@%p1 bra FEW;\n"
        "setmaxnreg.inc.sync.aligned.u32 " +
            std::string(more) + ";\nret;\nFEW:\nsetmaxnreg.dec.sync.aligned.u32 " + fewer + ";\n",
        {}, "sm_90a");
    return ptx.insert(ptx.find(")\n{") + 1, "\n.maxntid 512, 1, 1");
  };
  EXPECT_EQ(launch(body("56", "200"), {}, 1, 256), success) << said;
  EXPECT_NE(launch(body("56", "208"), {}, 1, 256), success);
  EXPECT_NE(said.find("setmaxnreg waits for ever"), said.npos) << said;
  cuDevicePrimaryCtxReset_v2(0);
  EXPECT_NE(launch(body("136", "200"), {}, 1, 256), success);
  EXPECT_NE(said.find("from 128 registers to 136"), said.npos) << said;
}

} // namespace
} // namespace emulator::tests
