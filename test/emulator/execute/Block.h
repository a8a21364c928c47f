//===- Block.h - the warps of a thread block and its barriers ---*- C++ -*-===//
#ifndef EMULATOR_EXECUTE_BLOCK_H
#define EMULATOR_EXECUTE_BLOCK_H

#include "test/emulator/execute/Asynchronous.h"
#include "test/emulator/execute/Warp.h"

#include <map>

namespace emulator {

struct Barrier {
  uint32_t arrived = 0, expected = 0; ///< threads, whole warps
  Mask waiting = 0;                   ///< warps
  Clocks clocks = {};
  int line = 0;
};

class Cluster;

/// Of an address in shared memory: what is above belongs to a block of a cluster.
constexpr int rankShift = 24;

struct Block {
  /// `tag`: what its shared memory's addresses have from bit 24 on.
  Block(const Launch &launch, uint64_t launchId, Cluster &cluster, uint32_t rank, uint32_t tag);

  // These throw a Fault with its place.
  void start(uint64_t linear); ///< as block `linear` of the grid
  /// Each warp once; whether any thread is left, and whether one did something.
  bool runWarps(bool &progress);
  [[noreturn]] void stuck();
  void end();
  bool isAlive() const;

  /// Lanes of a warp come to barrier `id`; with `wait` they stay until `expected` threads have come
  /// (all of the block's if that is 0).
  void arrive(Warp &warp, Mask mask, uint32_t id, uint32_t expected, bool wait, int line);

  uint64_t thread(const Warp &warp, int lane) const {
    return linear * threads + warp.index * lanes + lane;
  }
  /// "block (1, 0, 0), thread (5, 0, 0)".
  std::string place(const Warp &warp, int lane) const;

  const Launch *launch;
  Cluster *cluster;
  uint32_t rank; ///< in it
  uint32_t tag;
  uint64_t launchId, linear = 0;
  uint32_t index[3];
  uint32_t threads;
  Shared shared;
  std::vector<Warp> warps;
  std::map<uint32_t, Mbarrier> mbarriers; ///< by their address in shared memory
  std::vector<BulkCopy> bulkCopies;       ///< under way
  uint32_t registersAtLaunch;             ///< of a thread, where kernels use setmaxnreg

private:
  void startWarp(Warp &warp);
  void endless(const Warp &warp);
  [[noreturn]] void fail(const Fault &fault) const;
  uint32_t coordinate(uint32_t thread, int dimension) const;

  std::vector<uint64_t> constants; ///< the kernel's, where addresses are this block's alone
  std::array<Barrier, 16> barriers;
  std::vector<std::byte> frames, locals;
  std::vector<uint8_t> localsWritten;
  Warp *running = nullptr;
};

} // namespace emulator

#endif // EMULATOR_EXECUTE_BLOCK_H
