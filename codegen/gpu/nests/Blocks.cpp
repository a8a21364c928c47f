//===- Blocks.cpp - threads of a block that work together -----------------===//
#include "codegen/gpu/nests/Blocks.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::transformer::simt;

namespace {

llvm::MaybeAlign ofFour() { return llvm::Align(16); }

VectorType vectorOf(Value buffer, int64_t count) {
  return VectorType::get(count, cast<MemRefType>(buffer.getType()).getElementType());
}

llvm::MaybeAlign sizeOf(VectorType type) {
  return llvm::Align(type.getNumElements() * type.getElementTypeBitWidth() / 8);
}

} // namespace

void transformer::simt::blocks(Loops &b, ValueRange sizes, int64_t count,
                               function_ref<void(ValueRange, Value)> body) {
  Values all(sizes);
  all.push_back(b.index(count));
  b.threads(all, [&](ValueRange at) { body(at.drop_back(), at.back()); });
}

Value transformer::simt::sharedMemory(Loops &b, ArrayRef<int64_t> shape, Type element) {
  auto space = mlir::gpu::AddressSpaceAttr::get(b.getContext(), mlir::gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
  return memref::AllocaOp::create(b, type);
}

Value transformer::simt::viewOf(Loops &b, Value bytes, int64_t first, ArrayRef<int64_t> shape,
                                Type element) {
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              cast<MemRefType>(bytes.getType()).getMemorySpace());
  return memref::ViewOp::create(b, type, bytes, b.index(first), ValueRange());
}

void transformer::simt::barrier(Loops &b) { mlir::gpu::BarrierOp::create(b); }

void transformer::simt::copyAsync(Loops &b, Value from, ValueRange at, Value to, ValueRange place,
                                  int64_t numbers) {
  UnitAttr aroundCaches = numbers == 4 ? b.getUnitAttr() : UnitAttr();
  nvgpu::DeviceAsyncCopyOp::create(b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), to, place,
                                   from, at, b.getIndexAttr(numbers), Value(), aroundCaches);
}

void transformer::simt::waitForCopies(Loops &b) {
  NVVM::CpAsyncCommitGroupOp::create(b);
  NVVM::CpAsyncWaitGroupOp::create(b, b.getI32IntegerAttr(0));
}

void transformer::simt::copyAsyncIf(Loops &b, Value isThere, Value from, ValueRange at, Value to,
                                    ValueRange place, int64_t numbers) {
  int64_t bits = numbers * cast<MemRefType>(from.getType()).getElementTypeBitWidth();
  UnitAttr aroundCaches = bits == 128 ? b.getUnitAttr() : UnitAttr();
  Value count = isThere ? b.select(isThere, b.index(numbers), b.index(0)) : Value();
  nvgpu::DeviceAsyncCopyOp::create(b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), to, place,
                                   from, at, b.getIndexAttr(numbers), count, aroundCaches);
}

void transformer::simt::commitCopies(Loops &b) { NVVM::CpAsyncCommitGroupOp::create(b); }

void transformer::simt::waitForGroups(Loops &b, int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(pending)));
}

void transformer::simt::prefetch(Loops &b, Value buffer, ValueRange at) {
  auto type = cast<MemRefType>(buffer.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Value place = b.index(0);
  for (auto [i, index] : llvm::enumerate(at))
    place = b.add(place, b.mul(index, strides[i]));
  Value first = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  first = b.add(first, b.mul(place, type.getElementTypeBitWidth() / 8));
  Value address = arith::IndexCastOp::create(b, b.getI64Type(), first);
  auto global = LLVM::LLVMPointerType::get(b.getContext(),
                                           static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  Value pointer = LLVM::IntToPtrOp::create(b, global, address);
  NVVM::PrefetchOp::create(
      b, NVVM::PrefetchCacheLevelAttr::get(b.getContext(), NVVM::PrefetchCacheLevel::L2),
      /*evictPriority=*/{}, pointer, /*predicate=*/Value(), /*tensormap=*/{}, /*uniform=*/{},
      /*in_param_space=*/{});
}

void transformer::simt::waitForEarlierKernels(Loops &b) {
  if (b.target->startsEarly)
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

Values transformer::simt::loadVector(Loops &b, Value buffer, ValueRange at, int64_t count) {
  VectorType type = vectorOf(buffer, count);
  Value vector = vector::LoadOp::create(b, type, buffer, at, /*nontemporal=*/false, sizeOf(type));
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(vector::ExtractOp::create(b, vector, i));
  return values;
}

void transformer::simt::storeVector(Loops &b, ValueRange values, Value buffer, ValueRange at) {
  VectorType type = vectorOf(buffer, static_cast<int64_t>(values.size()));
  Value vector = vector::FromElementsOp::create(b, type, values);
  vector::StoreOp::create(b, vector, buffer, at, /*nontemporal=*/false, sizeOf(type));
}

Values transformer::simt::loadFour(Loops &b, Value buffer, ValueRange at) {
  auto type = VectorType::get(4, b.getF32Type());
  Value four = vector::LoadOp::create(b, type, buffer, at, /*nontemporal=*/false, ofFour());
  Values values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(vector::ExtractOp::create(b, four, i));
  return values;
}

void transformer::simt::storeFour(Loops &b, ValueRange values, Value buffer, ValueRange at) {
  auto type = VectorType::get(4, b.getF32Type());
  Value four = vector::FromElementsOp::create(b, type, values);
  vector::StoreOp::create(b, four, buffer, at, /*nontemporal=*/false, ofFour());
}

Value transformer::simt::hidden(Loops &b, Value x) {
  Type word = b.getI64Type();
  Value bits = arith::IndexCastOp::create(b, word, x);
  Value moved = LLVM::InlineAsmOp::create(b, word, ValueRange{bits}, "mov.u64 $0, $1;", "=l,l",
                                          /*has_side_effects=*/false, /*is_align_stack=*/false,
                                          LLVM::tailcallkind::TailCallKind::None,
                                          LLVM::AsmDialectAttr(), ArrayAttr())
                    .getResult(0);
  return arith::IndexCastOp::create(b, b.getIndexType(), moved);
}

Value transformer::simt::fromLane(Loops &b, Value value, int64_t mask) {
  return mlir::gpu::ShuffleOp::create(b, value, static_cast<int32_t>(mask), 32,
                                      mlir::gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value transformer::simt::overLanes(Loops &b, Value value, int64_t lanes,
                                   function_ref<Value(Value, Value)> combine) {
  for (int64_t mask = 1; mask < lanes; mask *= 2)
    value = combine(value, fromLane(b, value, mask));
  return value;
}
