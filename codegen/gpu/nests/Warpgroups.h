//===- Warpgroups.h - products of 16 bits by four warps ---------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_WARPGROUPS_H
#define CODEGEN_GPU_NESTS_WARPGROUPS_H

#include "codegen/gpu/nests/Loops.h"

namespace mlir::transformer::simt {

inline constexpr int64_t warpgroupSize = 128;

/// Of a wgmma of bf16 or f16; its columns are a multiple of 8, at most 256.
inline constexpr int64_t wgmmaRows = 64, wgmmaDepth = 16;

/// A matrix in shared memory as wgmma reads it: blocks of lines of 32, 64 or 128 bytes, along the
/// depth or along the rows, whose pieces of 16 bytes are in the order of that swizzle. A block
/// begins at a multiple of 1024 bytes.
struct WarpgroupOperand {
  int64_t bytesOfLine, bytesOfBlock;
  bool alongDepth;
};

/// The number of the thread's warpgroup, in one register of the warp.
Value warpgroupOf(Loops &b, Value thread);
/// What tells wgmma of the matrix from `address` on, a place in shared memory in bytes. Adding
/// bytes / 16 moves it.
Value descriptorOf(Loops &b, const WarpgroupOperand &operand, Value address);

/// What this thread has written to shared memory is there for wgmma, behind the next barrier.
void publishToWarpgroups(Loops &b);
/// Before the first product after a thread's sums, or registers that it multiplies, were written by
/// others: of those, f32 or i32, that are given it gives what products take.
void beginProducts(Loops &b);
Values beginProducts(Loops &b, ValueRange registers);
/// Begins to add the products of `wgmmaRows` of x and all of y's rows, `wgmmaDepth` of each, to the
/// sums; the descriptors tell where those start. Both are of `type`.
Values multiplyAsync(Loops &b, FloatType type, const WarpgroupOperand &x, Value ofX,
                     const WarpgroupOperand &y, Value ofY, ValueRange sums);
/// Likewise, from zero, of `columns` rows of y.
Values multiplyAsync(Loops &b, FloatType type, const WarpgroupOperand &x, Value ofX,
                     const WarpgroupOperand &y, Value ofY, int64_t columns);
/// Likewise, of x in registers: of a thread four, which lie as two sums of eight columns do,
/// packed. Nothing may write them before the products are waited for.
Values multiplyAsync(Loops &b, FloatType type, ValueRange x, const WarpgroupOperand &y, Value ofY,
                     ValueRange sums);
/// What was begun since the last call is a group.
void commitProducts(Loops &b);
/// Of registers, sums and what else is given, when all groups but the last `pending` are in the
/// sums. Before that nothing may read those, and what is made of the others is made behind it.
Values waitForProducts(Loops &b, int64_t pending, ValueRange registers);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_WARPGROUPS_H
