//===- Cluster.h - blocks that reach each other's shared memory -*- C++ -*-===//
//
// They run together: a pass over the warps of one, then over those of the next. A
// place in the shared memory of block r has r + 1 in the address's highest byte of
// 32 bits; without it is meant whose thread asks.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_CLUSTER_H
#define EMULATOR_EXECUTE_CLUSTER_H

#include "test/emulator/execute/Block.h"

#include <deque>

namespace emulator {

class Cluster {
public:
  /// Without .reqnctapercluster, and without more than one block in it, of one block.
  explicit Cluster(const Launch &launch, uint64_t launchId);

  /// Runs the cluster's blocks, `number` of the grid's, from their start to their end. Throws a
  /// Fault with its place.
  void run(uint64_t number);

  /// barrier.cluster: all threads that have not exited arrive, then those that wait go on.
  void arrive(Warp &warp, Mask mask, bool isRelaxed);
  void wait(Warp &warp, Mask mask);
  void threadsExited(); ///< for whom nobody waits any more

  /// The block at `rank`, if it has not ended.
  Block &block(uint32_t rank, int lane);
  uint32_t size() const { return blocks.size(); }
  /// "block (1, 0, 0), thread (5, 0, 0)", of what a clock's tag names.
  std::string place(uint32_t warp, int lane) const;

  std::deque<Block> blocks;

private:
  void completeIfAll();

  uint64_t phase = 0;
  Clocks arrived = {};
};

constexpr uint64_t addressOfRank(uint64_t address, uint32_t rank) {
  return (address & ((1u << rankShift) - 1)) | uint64_t(rank + 1) << rankShift;
}

/// What a shared::cluster address points to.
struct ClusterAddress {
  Block *block;
  uint32_t address; ///< in its shared memory
};
ClusterAddress clusterAddress(const Warp &warp, int lane, uint64_t address);
/// Throws a Fault unless the thread knows of what made the mbarrier there.
void checkInitialised(Block &block, const Warp &warp, int lane, uint32_t barrier);

} // namespace emulator

#endif // EMULATOR_EXECUTE_CLUSTER_H
