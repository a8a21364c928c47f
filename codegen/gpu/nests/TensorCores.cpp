//===- TensorCores.cpp - products of 16 bits by a warp --------------------===//
#include "codegen/gpu/nests/TensorCores.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::transformer::simt;

namespace {

Value registerOf(Loops &b, Value two) {
  auto word = VectorType::get(1, b.getI32Type());
  return vector::ExtractOp::create(b, vector::BitCastOp::create(b, word, two), int64_t(0));
}

Value narrow(Loops &b, FloatType type, Value low, Value high) {
  Value two =
      vector::FromElementsOp::create(b, VectorType::get(2, b.getF32Type()), ValueRange{low, high});
  return arith::TruncFOp::create(b, VectorType::get(2, type), two);
}

/// Registers as the operation has them: those of f16 are vectors.
Values multiplied(Loops &b, FloatType type, ValueRange registers) {
  Values operands(registers);
  if (type.isF16())
    for (Value &each : operands)
      each = LLVM::BitcastOp::create(b, VectorType::get(2, type), each);
  return operands;
}

} // namespace

Values transformer::simt::loadMatrices(Loops &b, Value memory, ValueRange place, bool transpose) {
  auto type = VectorType::get({4, 2}, cast<MemRefType>(memory.getType()).getElementType());
  Value all = nvgpu::LdMatrixOp::create(b, type, memory, place, transpose, /*numTiles=*/4);
  Values registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(registerOf(b, vector::ExtractOp::create(b, all, i)));
  return registers;
}

void transformer::simt::multiply(Loops &b, FloatType type, ValueRange x, ValueRange y,
                                 MutableArrayRef<Value> sums) {
  Type f32 = b.getF32Type();
  auto ofSums = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  using NVVM::MMALayout, NVVM::MMATypes;
  MMATypes multiplicand = type.isTF32()  ? MMATypes::tf32
                          : type.isF16() ? MMATypes::f16
                                         : MMATypes::bf16;
  int64_t depth = type.isTF32() ? tf32Depth : mmaDepth;
  Value next = NVVM::MmaOp::create(
      b, ofSums, multiplied(b, type, x), multiplied(b, type, y), ValueRange(ArrayRef<Value>(sums)),
      ArrayRef<int64_t>{mmaRows, mmaColumns, depth}, std::nullopt, std::nullopt,
      std::array{multiplicand, multiplicand}, std::array{MMALayout::row, MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, next, static_cast<int64_t>(i));
}

Values transformer::simt::toHalves(Loops &b, FloatType type, Value low, Value high) {
  Value two = narrow(b, type, low, high);
  return {vector::ExtractOp::create(b, two, 0), vector::ExtractOp::create(b, two, 1)};
}

Value transformer::simt::packHalves(Loops &b, FloatType type, Value low, Value high) {
  return registerOf(b, narrow(b, type, low, high));
}
