//===- Blocks.h - threads of a block that work together ---------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_BLOCKS_H
#define CODEGEN_GPU_NESTS_BLOCKS_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

/// A block of `count` threads for each place below `sizes`, with shared memory: a `scf.parallel`
/// whose last dimension is a block's threads, as `transformer-gpu-map-threads` takes it.
void blocks(Loops &b, ValueRange sizes, int64_t count,
            function_ref<void(ValueRange at, Value thread)> body);

/// Memory of the block, at the start of its body.
Value sharedMemory(Loops &b, ArrayRef<int64_t> shape, Type element);
/// Numbers in memory of bytes, from a multiple of 16 on.
Value viewOf(Loops &b, Value bytes, int64_t first, ArrayRef<int64_t> shape, Type element);
/// Every thread of the block comes here; what they have written to memory all see from here on.
void barrier(Loops &b);

/// Begins to copy `numbers` of f32 from the device's memory to the block's: 1, or 4 whose places
/// are multiples of 16 bytes.
void copyAsync(Loops &b, Value from, ValueRange at, Value to, ValueRange place, int64_t numbers);
/// Until all copies that this thread has begun are there.
void waitForCopies(Loops &b);

/// Likewise, of numbers of any kind that are 4, 8 or 16 bytes at a multiple of as many, or zeros
/// unless `isThere`: then nothing is read.
void copyAsyncIf(Loops &b, Value isThere, Value from, ValueRange at, Value to, ValueRange place,
                 int64_t numbers);
/// What this thread has begun to copy since the last call is a group.
void commitCopies(Loops &b);
/// Until all groups but the last `pending` are there.
void waitForGroups(Loops &b, int64_t pending);

/// Asks for memory, as many bytes as a line of the second-level cache has, to be fetched there.
void prefetch(Loops &b, Value buffer, ValueRange at);
/// Until what was launched before the kernel has been done, where it may have been started earlier:
/// in front of this it reads and writes nothing.
void waitForEarlierKernels(Loops &b);

/// `count` numbers of a row, a power of 2 at a multiple of as many.
Values loadVector(Loops &b, Value buffer, ValueRange at, int64_t count);
void storeVector(Loops &b, ValueRange values, Value buffer, ValueRange at);
/// Four f32 of a row, at a multiple of 16 bytes.
Values loadFour(Loops &b, Value buffer, ValueRange at);
void storeFour(Loops &b, ValueRange values, Value buffer, ValueRange at);

/// A number that LLVM does not look through: a short loop of known length it would unroll wholly,
/// and keep what all turns compute of places in registers, more than there are.
Value hidden(Loops &b, Value x);

/// The value of the lane whose number differs in the bits of `mask`.
Value fromLane(Loops &b, Value value, int64_t mask);
/// `combine` over `lanes`, a power of 2, neighbours of a warp; all of them get it, the same bits.
Value overLanes(Loops &b, Value value, int64_t lanes, function_ref<Value(Value, Value)> combine);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_BLOCKS_H
