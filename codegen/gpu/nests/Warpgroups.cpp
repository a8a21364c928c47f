//===- Warpgroups.cpp - products of 16 bits by four warps -----------------===//
#include "codegen/gpu/nests/Warpgroups.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::transformer::simt;

namespace {

char constraintOf(Value value) {
  return value.getType().isF32() ? 'f' : value.getType().isInteger(32) ? 'r' : 'l';
}

/// What writes f32 or i32, of `types`, and reads `inputs`.
Values inRegisters(Loops &b, const std::string &assembly, ArrayRef<Type> types,
                   const std::string &constraints, ValueRange inputs) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value all = LLVM::InlineAsmOp::create(b, type, inputs, assembly, constraints,
                                        /*has_side_effects=*/true, /*is_align_stack=*/false,
                                        LLVM::tailcallkind::TailCallKind::None,
                                        LLVM::AsmDialectAttr(), ArrayAttr())
                  .getResult(0);
  Values values;
  for (size_t i = 0; i < types.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, all, static_cast<int64_t>(i)));
  return values;
}

/// What has a place for each of `values`, f32 or i32, and gives them back in the same registers.
Values inRegisters(Loops &b, const std::string &assembly, ValueRange values, ValueRange more = {}) {
  std::string written, read;
  for (auto [i, value] : llvm::enumerate(values)) {
    written += std::string(i ? ",=" : "=") + constraintOf(value);
    read += "," + std::to_string(i);
  }
  for (Value each : more)
    read += std::string(",") + constraintOf(each);
  Values inputs(values);
  llvm::append_range(inputs, more);
  return inRegisters(b, assembly, SmallVector<Type>(values.getTypes()), written + read, inputs);
}

/// The products of 16 of the depth, with `count` sums, the first registers; `operands` are x and y,
/// `turned` whether those in memory are along their rows.
std::string wgmma(FloatType type, size_t count, bool adds, const std::string &operands,
                  const std::string &turned) {
  std::string element = type.isF16() ? "f16" : "bf16";
  std::string text = "{\n.reg .pred p;\nsetp." + std::string(adds ? "eq" : "ne") +
                     ".u32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(2 * count) + "k16.f32." + element + "." + element + " {";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(i);
  return text + "}, " + operands + ", p, 1, 1, " + turned + ";\n}";
}

std::string isTurned(const WarpgroupOperand &operand) { return operand.alongDepth ? "0" : "1"; }

std::string place(size_t i) { return "$" + std::to_string(i); }

} // namespace

Value transformer::simt::warpgroupOf(Loops &b, Value thread) {
  Type word = b.getI32Type();
  Value number = arith::IndexCastOp::create(b, word, b.div(thread, warpgroupSize));
  Value same = mlir::gpu::ShuffleOp::create(b, number, 0, 32, mlir::gpu::ShuffleMode::IDX)
                   .getShuffleResult();
  return arith::IndexCastOp::create(b, b.getIndexType(), same);
}

Value transformer::simt::descriptorOf(Loops &b, const WarpgroupOperand &operand, Value address) {
  constexpr int64_t linesAtOnce = 8;
  // Along the depth one line has all of it that a product takes.
  int64_t leading = operand.alongDepth ? 1 : operand.bytesOfBlock / 16;
  int64_t stride = linesAtOnce * operand.bytesOfLine / 16;
  uint64_t swizzle = operand.bytesOfLine == 128 ? 1 : operand.bytesOfLine == 64 ? 2 : 3;
  auto layout =
      static_cast<int64_t>(swizzle << 62 | uint64_t(stride) << 32 | uint64_t(leading) << 16);
  // 18 bits of the address: above them is the block's rank in its cluster.
  Value start = b.div(arith::IndexCastOp::create(b, b.getI64Type(), address), b.integer(16));
  start = arith::AndIOp::create(b, start, b.integer((1 << 14) - 1));
  return arith::OrIOp::create(b, start, b.integer(layout));
}

void transformer::simt::publishToWarpgroups(Loops &b) {
  using NVVM::ProxyKind, NVVM::SharedSpace;
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKindAttr::get(b.getContext(), ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(b.getContext(), SharedSpace::shared_cta));
}

void transformer::simt::beginProducts(Loops &b) { NVVM::WgmmaFenceAlignedOp::create(b); }

Values transformer::simt::beginProducts(Loops &b, ValueRange registers) {
  return inRegisters(b, "wgmma.fence.sync.aligned;", registers);
}

Values transformer::simt::multiplyAsync(Loops &b, FloatType type, const WarpgroupOperand &x,
                                        Value ofX, const WarpgroupOperand &y, Value ofY,
                                        ValueRange sums) {
  size_t count = sums.size(), first = 2 * count; // half of the columns
  std::string text = wgmma(type, count, /*adds=*/true, place(first) + ", " + place(first + 1),
                           isTurned(x) + ", " + isTurned(y));
  return inRegisters(b, text, sums, {ofX, ofY});
}

Values transformer::simt::multiplyAsync(Loops &b, FloatType type, const WarpgroupOperand &x,
                                        Value ofX, const WarpgroupOperand &y, Value ofY,
                                        int64_t columns) {
  size_t count = columns / 2;
  std::string text = wgmma(type, count, /*adds=*/false, place(count) + ", " + place(count + 1),
                           isTurned(x) + ", " + isTurned(y));
  std::string constraints;
  for (size_t i = 0; i < count; ++i)
    constraints += "=f,";
  return inRegisters(b, text, SmallVector<Type>(count, b.getF32Type()), constraints + "l,l",
                     {ofX, ofY});
}

Values transformer::simt::multiplyAsync(Loops &b, FloatType type, ValueRange x,
                                        const WarpgroupOperand &y, Value ofY, ValueRange sums) {
  size_t count = sums.size();
  std::string registers;
  for (size_t i = 0; i < x.size(); ++i)
    registers += (i ? ", " : "{") + place(2 * count + i);
  Values more(x);
  more.push_back(ofY);
  std::string text = wgmma(type, count, /*adds=*/true,
                           registers + "}, " + place(2 * count + x.size()), isTurned(y));
  return inRegisters(b, text, sums, more);
}

void transformer::simt::commitProducts(Loops &b) { NVVM::WgmmaGroupSyncAlignedOp::create(b); }

Values transformer::simt::waitForProducts(Loops &b, int64_t pending, ValueRange registers) {
  return inRegisters(b, "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";",
                     registers);
}
