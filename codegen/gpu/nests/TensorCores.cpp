//===- TensorCores.cpp - products of bf16 by a warp -----------------------===//
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

Value narrow(Loops &b, Value low, Value high) {
  auto floats = VectorType::get(2, b.getF32Type()), type = VectorType::get(2, b.getBF16Type());
  Value two = vector::FromElementsOp::create(b, floats, ValueRange{low, high});
  return arith::TruncFOp::create(b, type, two);
}

} // namespace

Values transformer::simt::loadMatrices(Loops &b, Value memory, ValueRange place, bool transpose) {
  auto type = VectorType::get({4, 2}, b.getBF16Type());
  Value all = nvgpu::LdMatrixOp::create(b, type, memory, place, transpose, /*numTiles=*/4);
  Values registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(registerOf(b, vector::ExtractOp::create(b, all, i)));
  return registers;
}

void transformer::simt::multiplyBf16(Loops &b, ValueRange x, ValueRange y,
                                     MutableArrayRef<Value> sums) {
  Type f32 = b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  using NVVM::MMALayout, NVVM::MMATypes;
  Value next = NVVM::MmaOp::create(b, type, x, y, ValueRange(ArrayRef<Value>(sums)),
                                   ArrayRef<int64_t>{mmaRows, mmaColumns, mmaDepth}, std::nullopt,
                                   std::nullopt, std::array{MMATypes::bf16, MMATypes::bf16},
                                   std::array{MMALayout::row, MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, next, static_cast<int64_t>(i));
}

Values transformer::simt::toBf16(Loops &b, Value low, Value high) {
  Value two = narrow(b, low, high);
  return {vector::ExtractOp::create(b, two, 0), vector::ExtractOp::create(b, two, 1)};
}

Value transformer::simt::packBf16(Loops &b, Value low, Value high) {
  return registerOf(b, narrow(b, low, high));
}
