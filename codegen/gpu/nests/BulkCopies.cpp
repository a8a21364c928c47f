//===- BulkCopies.cpp - copies that barriers in memory count --------------===//
#include "codegen/gpu/nests/BulkCopies.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

Value word(Loops &b, int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }

Value word(Loops &b, Value index) { return arith::IndexCastOp::create(b, b.getI32Type(), index); }

LLVM::LLVMPointerType pointerTo(Loops &b, NVVM::NVVMMemorySpace space) {
  return LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space));
}

/// Of a place in shared memory in bytes.
Value pointer(Loops &b, Value address) {
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(b, pointerTo(b, NVVM::NVVMMemorySpace::Shared),
                                  ValueRange{number});
}

} // namespace

Value Mbarriers::operator[](Value number) const {
  Value first = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  return pointer(b, b.add(first, b.mul(number, int64_t(sizeof(int64_t)))));
}

void Mbarriers::initialise(int64_t first, int64_t count, int64_t arrivals) const {
  for (int64_t i = first; i < first + count; ++i)
    NVVM::MBarrierInitOp::create(b, (*this)[b.index(i)], word(b, arrivals), Value());
}

void Mbarriers::publish() const { NVVM::FenceMbarrierInitOp::create(b); }

void Mbarriers::arrive(Value number) const {
  NVVM::MBarrierArriveOp::create(b, b.getI64Type(), (*this)[number], Value());
}

void Mbarriers::arriveIn(int64_t rank, Value number) const {
  Value there = NVVM::MapaOp::create(b, pointerTo(b, NVVM::NVVMMemorySpace::SharedCluster),
                                     (*this)[number], word(b, rank));
  NVVM::MBarrierArriveOp::create(b, TypeRange(), there, Value(), NVVM::MemScopeKind::CTA,
                                 /*relaxed=*/false);
}

void Mbarriers::arriveWithBytes(Value number, int64_t bytes) const {
  NVVM::MBarrierArriveExpectTxOp::create(b, b.getI64Type(), (*this)[number], word(b, bytes),
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false, Value());
}

void Mbarriers::wait(Value number, Value parity) const {
  Value barrier = (*this)[number], asked = word(b, parity);
  // The instruction waits for a while only.
  auto test = [&](OpBuilder &builder, Location loc, ValueRange) {
    Value isOver =
        NVVM::MBarrierTryWaitOp::create(builder, loc, builder.getI1Type(), barrier, asked, Value(),
                                        NVVM::MemScopeKind::CTA, /*relaxed=*/false);
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value goesOn = arith::XOrIOp::create(builder, loc, isOver, yes);
    scf::ConditionOp::create(builder, loc, goesOn, ValueRange());
  };
  auto again = [](OpBuilder &builder, Location loc, ValueRange) {
    scf::YieldOp::create(builder, loc);
  };
  scf::WhileOp::create(b, TypeRange(), ValueRange(), test, again);
}

Value transformer::simt::tensorMap(Loops &b, Value matrix, int64_t rows) {
  return TensorMapOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), matrix,
                             b.getI64IntegerAttr(rows));
}

void transformer::simt::copyBox(Loops &b, Value map, Value row, Value column, Value to,
                                Value barrier, bool isMulticast) {
  // In a cluster an address of the block's is its own.
  Value target = LLVM::AddrSpaceCastOp::create(
      b, pointerTo(b, NVVM::NVVMMemorySpace::SharedCluster), pointer(b, to));
  Values place = {word(b, column), word(b, row)};
  Value ranks =
      isMulticast ? arith::ConstantIntOp::create(b, (1 << blocksOfCluster) - 1, 16) : Value();
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, target, map, place, barrier, /*im2colOffsets=*/ValueRange(), ranks,
      /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void transformer::simt::clusterBarrier(Loops &b) {
  NVVM::ClusterArriveOp::create(b, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(b, /*aligned=*/UnitAttr());
}

void transformer::simt::takeRegisters(Loops &b, int64_t count, bool isMore) {
  using enum NVVM::SetMaxRegisterAction;
  NVVM::SetMaxRegisterOp::create(b, static_cast<uint32_t>(count), isMore ? increase : decrease);
}

void transformer::simt::warpBarrier(Loops &b) { NVVM::SyncWarpOp::create(b, word(b, -1)); }
