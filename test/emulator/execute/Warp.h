//===- Warp.h - 32 threads in lockstep --------------------------*- C++ -*-===//
//
// Lanes that are at the same instruction are a group. The group that is furthest
// behind runs and takes up others where it meets them, so that what branched
// apart comes together again whatever the shape of the code. An instruction for
// several lanes at once (shfl.sync) waits until those it names are there.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_WARP_H
#define EMULATOR_EXECUTE_WARP_H

#include "test/emulator/Fault.h"
#include "test/emulator/Options.h"
#include "test/emulator/execute/Program.h"
#include "test/emulator/execute/Shared.h"

#include <array>
#include <bit>
#include <map>

namespace emulator {

constexpr Mask allLanes = ~Mask{0};

struct Block;

struct Group {
  enum State { Ready, Paused, Waiting, Barrier, Cluster };
  uint32_t pc;
  Mask mask;
  State state;
};

/// Of a thread: to shared memory, not there before it is waited for.
struct PendingCopy {
  int lane;
  uint32_t at, bytes, sourceBytes;
  const std::byte *source;
  int group; ///< -1 until it is committed
};

/// wgmma that was issued: it runs when it is waited for.
struct PendingProduct {
  const Instruction *in;
  uint64_t a, b;                                       ///< descriptors
  std::array<std::array<uint32_t, lanes>, 4> fragment; ///< or A
  bool accumulates;
  int group; ///< -1 until it is committed
};

/// The numbers of a register that products are under way to; meanwhile the register holds NaNs.
struct Accumulator {
  std::array<uint32_t, lanes> values;
  int uses = 0;
};

struct Warp {
  Block *block;
  int index, number; ///< in the block; in the cluster, of clocks
  std::byte *frame;
  const std::byte *constants;
  std::byte *local;          ///< localBytes of each lane, one after another
  uint8_t *localWritten;     ///< a byte a byte
  uint32_t registers;        ///< of a thread, as setmaxnreg has them
  Mask waited;               ///< lanes that have waited for the kernels before this one
  Mask launched, live, mask; ///< lanes of the block; not yet exited; of the running group
  uint32_t pc;
  uint32_t mergePc; ///< where the next group waits to be taken up
  bool changed;     ///< groups have to be looked at again
  bool yielding;
  int turns;                 ///< branches back in this time slice
  std::vector<Group> groups; ///< those that do not run
  Clocks clocks;
  Mask arrivedAtCluster; ///< lanes at barrier.cluster that have not waited yet
  uint64_t clusterPhase; ///< in which they did
  Clocks ofCluster;      ///< what those knew who came to its last phase
  std::vector<PendingCopy> copies;
  std::array<int, lanes> committed; ///< groups of copies that a lane has committed
  std::vector<PendingProduct> products;
  std::map<Place, Accumulator> accumulators;
  int committedProducts;
  const Allocation *lastFound;
  uint64_t instructions, laneInstructions;
  uint64_t instructionsBefore; ///< this block

  template <typename T> T *reg(Place place) const { return reinterpret_cast<T *>(frame + place); }
  /// Of a register or of constants.
  template <typename T> const T *in(Place place) const {
    const std::byte *base = place & 1 ? constants : frame;
    return reinterpret_cast<const T *>(base + (place & ~1));
  }
  Mask bits(Place place) const { return *in<Mask>(place); }

  /// Runs until no lane can go on, or until others should have their turn. False: nothing ran.
  bool run();
  /// Lanes of `taken` go on at `target`.
  void branch(Mask taken, uint32_t target);
  void exit(Mask mask);
  /// Whether all living lanes of `members` are here; else these wait, and the caller returns.
  bool converged(const Instruction &in, Mask mask, Mask members);
  /// These wait at a barrier, or what else the block counts.
  void park(Mask mask, Group::State state);
  void release(Group::State state);

private:
  void settle();
};

/// cp.async of these lanes arrive, all but the last `left` groups of each; all of them if that is
/// -1.
void deliverCopies(Warp &warp, Mask mask, int64_t left);

/// body(lane) for each lane of the mask.
template <typename Body> inline void forLanes(Mask mask, Body body) {
  if (mask == allLanes) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < lanes; ++lane)
      body(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    body(std::countr_zero(mask));
}

/// The same in order, never vectorised: for bodies that throw.
template <typename Body> inline void eachLane(Mask mask, Body body) {
  for (; mask; mask &= mask - 1)
    body(std::countr_zero(mask));
}

} // namespace emulator

#endif // EMULATOR_EXECUTE_WARP_H
