//===- LowerMatrices.cpp - matrix registers to AMX ------------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERMATRICES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t kRegisters = 8, kRows = 16, kRowBytes = 64;

/// Of the intrinsics that name registers: those whose registers LLVM chooses would carry them
/// through memory.
class MatrixLowering {
public:
  explicit MatrixLowering(Operation *op) : b(op->getLoc(), op) {}

  void lower(cpu::ConfigureMatricesOp op) {
    // Palette 1; bytes of a row from byte 16 on, 16 bits each; rows from byte 48 on (Intel SDM,
    // LDTILECFG).
    SmallVector<int8_t> bytes(64, 0);
    bytes[0] = 1;
    for (int64_t i = 0; i < kRegisters; ++i) {
      bytes[16 + 2 * i] = kRowBytes;
      bytes[48 + i] = kRows;
    }
    auto type = VectorType::get({64}, b.getI8Type());
    Value shape = arith::ConstantOp::create(
        b, cast<TypedAttr>(DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))));
    Value at = pointer(op.getScratch(), {zero()});
    LLVM::StoreOp::create(b, shape, at, /*alignment=*/kRowBytes);
    call("ldtilecfg", {at});
  }
  void lower(cpu::ReleaseMatricesOp) { call("tilerelease", {}); }
  void lower(cpu::ZeroMatrixOp op) { call("tilezero", {number(op.getInto())}); }
  void lower(cpu::LoadMatrixOp op) {
    call(op.getStreamed() ? "tileloaddt164" : "tileloadd64",
         {number(op.getInto()), pointer(op.getMemory(), op.getIndices()),
          rowStride(op.getMemory())});
  }
  void lower(cpu::StoreMatrixOp op) {
    call("tilestored64", {number(op.getFrom()), pointer(op.getMemory(), op.getIndices()),
                          rowStride(op.getMemory())});
  }
  void lower(cpu::AddMatrixProductOp op) {
    call("tdpbf16ps", {number(op.getSum()), number(op.getA()), number(op.getB())});
  }

private:
  Value zero() { return arith::ConstantIndexOp::create(b, 0); }
  Value number(int64_t i) {
    return LLVM::ConstantOp::create(b, b.getI8Type(), b.getI8IntegerAttr(i));
  }
  void call(StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86." + name), operands);
  }
  Value toI64(Value index) { return arith::IndexCastOp::create(b, b.getI64Type(), index); }
  static int64_t elementBytes(Value memory) {
    return cast<MemRefType>(memory.getType()).getElementTypeBitWidth() / 8;
  }
  Value inBytes(Value memory, Value elements) {
    return arith::MulIOp::create(b, elements,
                                 arith::ConstantIndexOp::create(b, elementBytes(memory)));
  }
  Value stride(memref::ExtractStridedMetadataOp parts, int64_t dim) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), parts.getConstifiedMixedStrides()[dim]);
  }

  Value pointer(Value memory, ValueRange at) {
    auto parts = memref::ExtractStridedMetadataOp::create(b, memory);
    Value place = getValueOrCreateConstantIndexOp(b, b.getLoc(), parts.getConstifiedMixedOffset());
    for (auto [dim, index] : llvm::enumerate(at))
      place = arith::AddIOp::create(b, place, arith::MulIOp::create(b, index, stride(parts, dim)));
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
    Value address = arith::AddIOp::create(b, start, inBytes(memory, place));
    return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), toI64(address));
  }
  /// Bytes from a row to the next.
  Value rowStride(Value memory) {
    auto parts = memref::ExtractStridedMetadataOp::create(b, memory);
    return toI64(inBytes(memory, stride(parts, cast<MemRefType>(memory.getType()).getRank() - 2)));
  }

  ImplicitLocOpBuilder b;
};

struct LowerMatricesPass : mlir::transformer::impl::LowerMatricesBase<LowerMatricesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (op->hasTrait<cpu::OnMatrixRegisters>())
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<cpu::ConfigureMatricesOp, cpu::ReleaseMatricesOp, cpu::ZeroMatrixOp,
                cpu::LoadMatrixOp, cpu::StoreMatrixOp, cpu::AddMatrixProductOp>(
              [](auto typed) { MatrixLowering(typed).lower(typed); });
      op->erase();
    }
  }
};

} // namespace
