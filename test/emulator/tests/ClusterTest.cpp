//===- ClusterTest.cpp - blocks that reach each other's shared memory -----===//
#include "test/emulator/tests/Support.h"

#include <numeric>

extern "C" int cuTensorMapEncodeTiled(void *, unsigned, unsigned, void *, const uint64_t *,
                                      const uint64_t *, const uint32_t *, const uint32_t *, int,
                                      int, int, int);

namespace emulator::tests {
namespace {

constexpr unsigned uint16 = 1;

class Clusters : public Emulated {
protected:
  /// In clusters of two.
  std::string pair(int parameters, const std::string &body) {
    std::string ptx = moduleOf(parameters, body, {}, "sm_90a");
    return ptx.insert(ptx.find("\n{"), "\n.explicitcluster\n.reqnctapercluster 2, 1, 1");
  }

  /// Launches two blocks of 64 threads on 8 rows of 64 numbers, p0 a map of 4 of the rows; p1 gets
  /// what each block then has of 8.
  int run(const std::string &body) {
    std::vector<uint16_t> matrix(512);
    std::iota(matrix.begin(), matrix.end(), 1);
    alignas(64) std::byte bytes[128];
    uint64_t sizes[] = {64, 8}, strides[] = {128}, map = allocate(128);
    uint32_t box[] = {64, 4}, one[] = {1, 1};
    EXPECT_EQ(cuTensorMapEncodeTiled(bytes, uint16, 2, reinterpret_cast<void *>(upload(matrix)),
                                     sizes, strides, box, one, 0, 0, 0, 0),
              success);
    EXPECT_EQ(cuMemcpyHtoD_v2(map, bytes, 128), success);
    out = allocate(2048);
    int code = launch(pair(2, body), {map, out}, 2, 64);
    if (code == success && body.find("%a1") != body.npos) {
      auto got = download<uint16_t>(out, 1024);
      for (int i = 0; i < 1024; ++i)
        EXPECT_EQ(got[i], matrix[i % 512]) << i;
    }
    return code;
  }

  void expect(int code, const std::string &what, const std::string &wrong) {
    EXPECT_EQ(run(wrong), code) << said;
    EXPECT_NE(said.find(what), said.npos) << said;
    cuDevicePrimaryCtxReset_v2(0);
  }

  uint64_t out = 0;
};

const std::string all = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
// Each block's first thread fetches 4 rows for both; a block's barrier waits for both.
const std::string declarations = R"(
    .shared .align 1024 .b8 tile[1024];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 free;
    mov.u32 %r30, tile; mov.u32 %r31, full; mov.u32 %r32, free;
    mov.u32 %r29, %cluster_ctarank;
    xor.b32 %r28, %r29, 1;
    shl.b32 %r21, %r29, 2; mov.u32 %r20, 0; shl.b32 %r1, %r29, 9; add.u32 %r27, %r30, %r1;
    setp.eq.u32 %p30, %t, 0; mov.b16 %h1, 3;
)";
const std::string initialise = "@%p30 mbarrier.init.shared.b64 [%r31], 1;\n"
                               "@%p30 mbarrier.init.shared.b64 [%r32], 4;\n"
                               "@%p30 fence.mbarrier_init.release.cluster;\n";
const std::string fetch =
    "@%p30 mbarrier.arrive.expect_tx.shared.b64 _, [%r31], 1024;\n"
    "@%p30 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    ".multicast::cluster [%r27], [%a0, {%r20, %r21}], [%r31], %h1;\n";
std::string wait(const std::string &barrier, const std::string &parity) {
  std::string label = "W" + barrier.substr(2) + parity;
  return label + ": mbarrier.try_wait.parity.shared.b64 %p31, [" + barrier + "], " + parity +
         ";\n@!%p31 bra " + label + ";\n";
}
const std::string store = R"(
    shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %r30;
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];
    mov.u32 %r6, %ctaid.x; shl.b32 %r6, %r6, 10; shl.b32 %r7, %t, 4; add.u32 %r6, %r6, %r7;
    cvt.u64.u32 %rd1, %r6; add.u64 %rd1, %rd1, %a1;
    st.global.v4.b32 [%rd1], {%r2, %r3, %r4, %r5};
)";
// A warp's first lane says to both blocks that it has read.
const std::string release = R"(
    and.b32 %r8, %t, 31; setp.eq.u32 %p1, %r8, 0;
    mapa.shared::cluster.u32 %r9, %r32, 0;
    mapa.shared::cluster.u32 %r10, %r32, 1;
    bar.warp.sync -1;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
)";

TEST_F(Clusters, WhereABlockIs) {
  uint64_t out = allocate(6 * 4 * 4);
  ASSERT_EQ(launch(pair(1, R"(
    mov.u32 %r1, %ctaid.x;
    mad.wide.u32 %rd1, %r1, 16, %a0;
    mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %clusterid.x; mov.u32 %r4, %cluster_nctarank;
    mov.u32 %r5, %nclusterid.x;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.global.v4.b32 [%rd1], {%r2, %r3, %r4, %r5};)"),
                   {out}, 6),
            success)
      << said;
  auto got = download<uint32_t>(out, 24);
  for (uint32_t block = 0; block < 6; ++block) {
    EXPECT_EQ(got[4 * block], block % 2);
    EXPECT_EQ(got[4 * block + 1], block / 2);
    EXPECT_EQ(got[4 * block + 2], 2u);
    EXPECT_EQ(got[4 * block + 3], 3u);
  }
  EXPECT_EQ(launch(pair(1, ""), {out}, 5), invalidValue);
  EXPECT_NE(said.find("5 blocks in clusters of 2"), said.npos) << said;
}

TEST_F(Clusters, BoxesForBothBlocks) {
  EXPECT_EQ(run(declarations + initialise + all + fetch + wait("%r31", "0") + store + all), success)
      << said;
}

TEST_F(Clusters, ASecondTimeWhenBothHaveRead) {
  const std::string begin = declarations + initialise + all + fetch + wait("%r31", "0") + store,
                    again = fetch + wait("%r31", "1") + store + all;
  EXPECT_EQ(run(begin + release + "@%p30 bra W320;\nbra THERE;\n" + wait("%r32", "0") + "THERE:\n" +
                again),
            success)
      << said;
  cuDevicePrimaryCtxReset_v2(0);
  // A block that waits for its own threads only overwrites what the other still reads.
  expect(illegalAddress, "race:", begin + "bar.sync 0;\n" + again);
}

TEST_F(Clusters, Faults) {
  // The other block's barrier is not there yet, or no longer.
  expect(illegalAddress,
         "race:", declarations + initialise + "bar.sync 0;\n" + fetch + wait("%r31", "0") + all);
  expect(illegalAddress, "which has ended",
         declarations + initialise + all + "setp.eq.u32 %p2, %r29, 0;\n@%p2 ret;\nbar.sync 0;\n" +
             release);
  expect(launchFailed, "bulk copy not waited for", declarations + initialise + all + fetch + all);
  expect(launchFailed, "without having arrived", "barrier.cluster.wait;");
  expect(launchFailed, "arrives twice", "barrier.cluster.arrive;\nbarrier.cluster.arrive;");
  // One block waits for ever.
  environment("EMULATED_INSTRUCTIONS", "1");
  expect(702, "no end after 1 million",
         declarations + initialise + all + "setp.eq.u32 %p2, %r29, 0;\n@%p2 bra END;\n" + fetch +
             wait("%r31", "0") + "END:\n" + all);
  EXPECT_EQ(run(declarations + initialise + all + release + all), success) << said;
}

TEST_F(Clusters, WhoExitedIsNotWaitedFor) {
  EXPECT_EQ(run("setp.ge.u32 %p1, %t, 32;\n@%p1 exit;\n" + all + all), success) << said;
}

} // namespace
} // namespace emulator::tests
