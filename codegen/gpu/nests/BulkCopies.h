//===- BulkCopies.h - copies that barriers in memory count ------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_BULKCOPIES_H
#define CODEGEN_GPU_NESTS_BULKCOPIES_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

/// Barriers of a block that count arrivals and bytes: a phase ends when all have come, and the next
/// one begins.
class Mbarriers {
public:
  /// `memory`: i64 in shared memory, a barrier each.
  Mbarriers(Loops &b, Value memory) : b(b), memory(memory) {}
  /// One thread says how many arrive at each of `count` barriers in a phase. All know it behind
  /// `publish`, of the same thread, and a barrier of the block.
  void initialise(int64_t first, int64_t count, int64_t arrivals) const;
  void publish() const;

  void arrive(Value number) const;
  /// Likewise, and the phase waits for as many bytes of copies.
  void arriveWithBytes(Value number, int64_t bytes) const;
  /// At that barrier of the cluster's block `rank`, of whose memory nothing was written: a release
  /// to all of the cluster would wait for all that the thread has written anywhere.
  void arriveIn(int64_t rank, Value number) const;
  /// Until the end of a phase, an even one if `parity` is 0 and an odd one if it is 1: the current
  /// one, or the one before. The one before the first is odd.
  void wait(Value number, Value parity) const;
  /// As an address.
  Value operator[](Value number) const;

private:
  Loops &b;
  Value memory;
};

/// What tells `copyBox` of the boxes of `rows` rows and 64 columns of a matrix of bf16 or f16 whose
/// rows begin at multiples of 16 bytes.
Value tensorMap(Loops &b, Value matrix, int64_t rows);
/// Begins to copy the box from (row, column) on to `to`, an address in shared memory in bytes, in
/// the order of the 128-byte swizzle; `barrier` counts its bytes. What is outside of the matrix is
/// zeros. `isMulticast`: to that place of both blocks of a cluster, whose barriers there count.
void copyBox(Loops &b, Value map, Value row, Value column, Value to, Value barrier,
             bool isMulticast = false);

/// Blocks of a cluster, which get what both of them multiply by one copy.
inline constexpr int64_t blocksOfCluster = 2;
/// Until all threads of the cluster's blocks are here, who see then what others wrote before. A
/// kernel that has one is launched in clusters.
void clusterBarrier(Loops &b);

/// From here on the threads of this warpgroup have fewer registers than the block was launched
/// with, or more: then they wait until others have fewer.
void takeRegisters(Loops &b, int64_t count, bool isMore);

/// What the lanes of a warp have written to memory all of them see from here on.
void warpBarrier(Loops &b);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_BULKCOPIES_H
