//===- Asynchronous.h - mbarriers, bulk copies, tensor maps -----*- C++ -*-===//
//
// A bulk copy arrives as late as it may: when its mbarrier has all other arrivals
// and somebody asks for its phase.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_ASYNCHRONOUS_H
#define EMULATOR_EXECUTE_ASYNCHRONOUS_H

#include "test/emulator/execute/Shared.h"

#include <array>
#include <utility>
#include <vector>

namespace emulator {

struct Mbarrier {
  uint32_t expected = 0, pending = 0; ///< arrivals of a phase
  int64_t bytes = 0;                  ///< of copies that are to come in this phase
  uint64_t phase = 0;
  Clocks arrived = {},
         released = {}; ///< what those knew who arrived: in this phase; in completed ones
};

struct BulkCopy {
  uint32_t barrier; ///< its mbarrier's address
  /// What goes where in shared memory, from the block's first byte on: 16 bytes each.
  std::vector<std::pair<uint32_t, std::array<std::byte, 16>>> contents;
  int warp, lane;
  uint32_t clock; ///< of the warp, when it was issued
};

/// What cuTensorMapEncodeTiled writes into CUtensorMap, whose 128 bytes are nobody else's business.
struct TensorMap {
  static constexpr uint32_t magicNumber = 0x7e450a4d;
  uint32_t magic;
  uint8_t elementBytes, rank, swizzle, fillNan; ///< swizzle: log2 of the 16 bytes in a span, 0 to 3
  uint64_t address;
  uint64_t stride[5]; ///< bytes; of dimension 0 those of an element
  uint32_t last[5];   ///< a dimension's size less 1
  uint16_t box[5];
};
static_assert(sizeof(TensorMap) <= 128);

/// The 16-byte chunks of a span of 16 << swizzle bytes change places with the row that they are in.
constexpr uint32_t swizzled(uint32_t address, uint32_t swizzle) {
  return address ^ ((address >> 7 & ((1u << swizzle) - 1)) << 4);
}

} // namespace emulator

#endif // EMULATOR_EXECUTE_ASYNCHRONOUS_H
