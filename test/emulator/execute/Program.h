//===- Program.h - a kernel, decoded ----------------------------*- C++ -*-===//
//
// An instruction is a function and where its operands lie. A register is 32 lanes
// side by side in a warp's frame, constants likewise in the kernel's pool, so
// that a lane loop is vector code. Calls are inlined: there is one frame.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_PROGRAM_H
#define EMULATOR_EXECUTE_PROGRAM_H

#include "test/emulator/Memory.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace emulator {

struct Warp;
struct Instruction;
using Mask = uint32_t; ///< a bit a lane
using Handler = void (*)(Warp &, const Instruction &, Mask);
constexpr int lanes = 32;

/// Bytes from the frame's start; odd ones are, less 1, bytes from the start of the constants.
using Place = int32_t;
constexpr Place nowhere = -2;

struct Instruction {
  Handler run = nullptr;
  Place op[5] = {nowhere, nowhere, nowhere, nowhere, nowhere};
  Place guard = nowhere;
  bool guardNegated = false;
  uint8_t variant = 0, variant2 = 0; ///< what handlers like to know
  uint16_t count = 0;
  uint32_t list = 0;   ///< of further places: kernel.places[list], count of them
  uint32_t target = 0; ///< of a branch
  int32_t line = 0;
  int64_t immediate = 0; ///< an offset to an address, or what handlers like to know
};

struct Parameter {
  uint32_t offset, size;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::string> opcodes; ///< one an instruction, for messages
  std::vector<Place> places;
  std::vector<std::vector<uint32_t>> branchTables;
  std::vector<uint64_t> constants;                    ///< the pool's bytes
  std::vector<std::pair<Place, int>> sharedAddresses; ///< of them, and their bytes
  uint32_t frameBytes = 0, localBytes = 0, sharedBytes = 0, parameterBytes = 0;
  uint32_t dynamicAlignment = 1;
  std::vector<Parameter> parameters;
  int maxThreads = 1024;
  int registers = 0;
  int maxDynamicShared = 48 * 1024 - 1024; ///< until cuFuncSetAttribute
  int clusterSize[3] = {0, 0, 0};          ///< .reqnctapercluster; 0: none was given
  bool waits = false;                      ///< for those before it: griddepcontrol.wait
  std::atomic<uint64_t> floatAtomics{0};   ///< that ran
};

struct LoadedModule {
  std::deque<Kernel> kernels;              ///< they stay where they are
  std::map<std::string, uint64_t> globals; ///< addresses
  ~LoadedModule();
};

/// Special registers lie at the start of each frame.
enum Special : Place {
  threadX = 0,
  threadY = 128,
  threadZ = 256,
  blockX = 384,
  blockY = 512,
  blockZ = 640,
  blockSizeX = 768,
  blockSizeY = 896,
  blockSizeZ = 1024,
  gridX = 1152,
  gridY = 1280,
  gridZ = 1408,
  laneId = 1536,
  warpId = 1664,
  numWarps = 1792,
  maskEq = 1920,
  maskLt = 2048,
  maskLe = 2176,
  maskGt = 2304,
  maskGe = 2432,
  dynamicShared = 2560,
  totalShared = 2688,
  smId = 2816,
  zero = 2944,
  one = 3072,
  clusterRank = 3200,
  clusterSize = 3328,
  clusterX = 3456,
  clustersX = 3584,
  endOfSpecial = 3712
};

/// Blocks of a cluster, which lie along x.
inline uint32_t clusterBlocks(const Kernel &kernel) {
  return kernel.clusterSize[0] > 1 ? kernel.clusterSize[0] : 1;
}

/// What launches it needs.
struct Launch {
  Kernel *kernel;
  uint32_t grid[3], block[3], dynamicShared;
  std::vector<std::byte> parameters;
};

/// Runs it to its end. Throws a Fault that names kernel, line, block and thread.
void execute(const Launch &launch);

} // namespace emulator

#endif // EMULATOR_EXECUTE_PROGRAM_H
