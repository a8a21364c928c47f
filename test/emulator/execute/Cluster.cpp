//===- Cluster.cpp - blocks that reach each other's shared memory ---------===//
#include "test/emulator/execute/Cluster.h"

#include "test/emulator/execute/Access.h"

namespace emulator {

Cluster::Cluster(const Launch &launch, uint64_t launchId) {
  uint32_t count = clusterBlocks(*launch.kernel);
  for (uint32_t rank = 0; rank < count; ++rank)
    blocks.emplace_back(launch, launchId, *this, rank, count > 1 ? rank + 1 : 0);
}

void Cluster::run(uint64_t number) {
  phase = 0;
  arrived = {};
  for (Block &block : blocks)
    block.start(number * size() + block.rank);
  bool alive = true;
  while (alive) {
    bool progress = alive = false;
    for (Block &block : blocks)
      alive |= block.runWarps(progress);
    for (Block &block : blocks)
      if (alive && !progress && block.isAlive())
        block.stuck();
  }
  for (Block &block : blocks)
    block.end();
}

void Cluster::arrive(Warp &warp, Mask mask, bool isRelaxed) {
  if (warp.arrivedAtCluster & mask)
    throw Fault{Result::LaunchFailed, "arrives twice at the cluster's barrier, without waiting",
                std::countr_zero(warp.arrivedAtCluster & mask)};
  warp.arrivedAtCluster |= mask;
  warp.clusterPhase = phase;
  if (!isRelaxed)
    arrived.join(warp.clocks);
  ++warp.clocks.of[warp.number];
  completeIfAll();
}

void Cluster::wait(Warp &warp, Mask mask) {
  if (Mask others = mask & ~warp.arrivedAtCluster)
    throw Fault{Result::LaunchFailed, "waits at the cluster's barrier without having arrived",
                std::countr_zero(others)};
  if (warp.clusterPhase == phase) {
    warp.park(mask, Group::Cluster);
    return;
  }
  warp.arrivedAtCluster &= ~mask;
  warp.clocks.join(warp.ofCluster);
}

void Cluster::threadsExited() { completeIfAll(); }

void Cluster::completeIfAll() {
  bool any = false;
  for (const Block &block : blocks)
    for (const Warp &warp : block.warps) {
      bool ofThisPhase = warp.clusterPhase == phase;
      if (warp.live & ~(ofThisPhase ? warp.arrivedAtCluster : 0))
        return;
      any |= warp.live != 0;
    }
  if (!any)
    return;
  ++phase;
  for (Block &block : blocks)
    for (Warp &warp : block.warps) {
      warp.ofCluster = arrived;
      for (Group &group : warp.groups)
        if (group.state == Group::Cluster) {
          warp.arrivedAtCluster &= ~group.mask;
          warp.clocks.join(arrived);
          group.state = Group::Ready;
        }
    }
}

Block &Cluster::block(uint32_t rank, int lane) {
  if (rank >= size())
    throw Fault{Result::IllegalAddress, text("block %u of a cluster of %u blocks", rank, size()),
                lane};
  Block &found = blocks[rank];
  if (!found.isAlive())
    throw Fault{Result::IllegalAddress,
                text("shared memory of block %u of the cluster, which has ended", rank), lane};
  return found;
}

std::string Cluster::place(uint32_t warp, int lane) const {
  const Block &block = blocks[warp / blocks[0].warps.size()];
  return block.place(block.warps[warp % block.warps.size()], lane);
}

ClusterAddress clusterAddress(const Warp &warp, int lane, uint64_t address) {
  uint32_t inCluster = address & 0xffffffff, rank = inCluster >> rankShift;
  if (!rank)
    return {warp.block, inCluster};
  return {&warp.block->cluster->block(rank - 1, lane), inCluster & ((1u << rankShift) - 1)};
}

void checkInitialised(Block &block, const Warp &warp, int lane, uint32_t barrier) {
  auto conflict = block.shared.read(barrier - sharedBase, 8, warp.clocks, warp.number, lane,
                                    /*uninitialized=*/false, options().sharedRaces);
  if (conflict != Shared::Conflict::None)
    faultShared(warp, lane, barrier, 8, conflict, false, block.shared);
}

} // namespace emulator
