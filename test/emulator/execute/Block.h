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

struct Block {
  explicit Block(const Launch &launch, uint64_t launchId);

  /// Runs block `linear` of the grid from its start to its end. Throws a Fault with its place.
  void run(uint64_t linear);

  /// Lanes of a warp come to barrier `id`; with `wait` they stay until `expected` threads have come
  /// (all of the block's if that is 0).
  void arrive(Warp &warp, Mask mask, uint32_t id, uint32_t expected, bool wait, int line);

  uint64_t thread(const Warp &warp, int lane) const {
    return linear * threads + warp.index * lanes + lane;
  }
  /// "block (1, 0, 0), thread (5, 0, 0)".
  std::string place(const Warp &warp, int lane) const;

  const Launch *launch;
  uint64_t launchId, linear = 0;
  uint32_t index[3];
  uint32_t threads;
  Shared shared;
  std::vector<Warp> warps;
  std::map<uint32_t, Mbarrier> mbarriers; ///< by their address in shared memory
  std::vector<BulkCopy> bulkCopies;       ///< under way
  uint32_t registersAtLaunch;             ///< of a thread, where kernels use setmaxnreg

private:
  void start();
  void startWarp(Warp &warp);
  void runWarps();
  void endless(const Warp &warp);
  [[noreturn]] void stuck();
  uint32_t coordinate(uint32_t thread, int dimension) const;

  std::array<Barrier, 16> barriers;
  std::vector<std::byte> frames, locals;
  std::vector<uint8_t> localsWritten;
  Warp *running = nullptr;
};

} // namespace emulator

#endif // EMULATOR_EXECUTE_BLOCK_H
