//===- Transfers.h - messages between processes -----------------*- C++ -*-===//
#ifndef EMULATOR_NCCL_TRANSFERS_H
#define EMULATOR_NCCL_TRANSFERS_H

#include "test/emulator/nccl/World.h"

#include <vector>

namespace emulator::nccl {

enum class Call : uint32_t { Point = 1, AllGather };

/// One side of a message.
struct Transfer {
  bool sends;
  int peer;
  Call call;
  int type;
  size_t numbers, bytes;
  std::byte *data; // of the host
  size_t done = 0; // bytes
};

/// Makes all of them, which only wait for those before them to or from the same process; a message
/// is sent when the other side has taken it, no sooner. Throws std::string when the other side's is
/// another one, or does not come.
void transfer(World &world, std::vector<Transfer> &transfers);

} // namespace emulator::nccl

#endif // EMULATOR_NCCL_TRANSFERS_H
