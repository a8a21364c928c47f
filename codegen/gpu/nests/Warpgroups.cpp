//===- Warpgroups.cpp - products of 16 bits by four warps -----------------===//
#include "codegen/gpu/nests/Warpgroups.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::transformer::simt;

namespace {

/// What has a place for each of the sums, which it gives back in the same registers.
Values inRegisters(Loops &b, const std::string &assembly, ValueRange sums, ValueRange more = {}) {
  std::string constraints = "=f";
  for (size_t i = 1; i < sums.size(); ++i)
    constraints += ",=f";
  for (size_t i = 0; i < sums.size(); ++i)
    constraints += "," + std::to_string(i);
  for (size_t i = 0; i < more.size(); ++i)
    constraints += ",l";
  Values inputs(sums);
  llvm::append_range(inputs, more);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                               SmallVector<Type>(sums.size(), b.getF32Type()));
  Value next = LLVM::InlineAsmOp::create(b, type, inputs, assembly, constraints,
                                         /*has_side_effects=*/true, /*is_align_stack=*/false,
                                         LLVM::tailcallkind::TailCallKind::None,
                                         LLVM::AsmDialectAttr(), ArrayAttr())
                   .getResult(0);
  Values values;
  for (size_t i = 0; i < sums.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, next, static_cast<int64_t>(i)));
  return values;
}

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
  Value start = b.div(arith::IndexCastOp::create(b, b.getI64Type(), address), b.integer(16));
  return arith::OrIOp::create(b, start, b.integer(layout));
}

void transformer::simt::publishToWarpgroups(Loops &b) {
  using NVVM::ProxyKind, NVVM::SharedSpace;
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKindAttr::get(b.getContext(), ProxyKind::async_shared),
                             NVVM::SharedSpaceAttr::get(b.getContext(), SharedSpace::shared_cta));
}

void transformer::simt::beginProducts(Loops &b) { NVVM::WgmmaFenceAlignedOp::create(b); }

Values transformer::simt::multiplyAsync(Loops &b, FloatType type, const WarpgroupOperand &x,
                                        Value ofX, const WarpgroupOperand &y, Value ofY,
                                        ValueRange sums) {
  std::string element = type.isF16() ? "f16" : "bf16";
  size_t count = sums.size(); // half of the columns
  std::string text = "{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(2 * count) + "k16.f32." + element + "." + element + " {";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(i);
  text += "}, $" + std::to_string(2 * count) + ", $" + std::to_string(2 * count + 1) +
          ", p, 1, 1, " + (x.alongDepth ? "0" : "1") + ", " + (y.alongDepth ? "0" : "1") + ";\n}";
  return inRegisters(b, text, sums, {ofX, ofY});
}

void transformer::simt::commitProducts(Loops &b) { NVVM::WgmmaGroupSyncAlignedOp::create(b); }

Values transformer::simt::waitForProducts(Loops &b, int64_t pending, ValueRange sums) {
  return inRegisters(b, "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", sums);
}
