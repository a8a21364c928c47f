//===- MapThreads.cpp - parallel loops to launches ------------------------===//
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/KernelWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MAPTHREADS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// From 0 by 1, nothing is reduced.
bool isPlain(scf::ParallelOp loop) {
  return loop.getNumResults() == 0 &&
         llvm::all_of(loop.getLowerBound(), [](Value v) { return isConstantIntValue(v, 0); }) &&
         llvm::all_of(loop.getStep(), [](Value v) { return isConstantIntValue(v, 1); });
}

/// As PTX takes it: letters, digits, _ and $.
std::string kernelName(StringRef function, size_t number) {
  std::string name = (function + "_" + Twine(number)).str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_')
      c = '$';
  return name;
}

/// Memory that the threads of a block share: `memref.alloca` of the workgroup, one after the other
/// in the launch's dynamic shared memory, which may be more than what is declared.
struct SharedMemory {
  explicit SharedMemory(scf::ParallelOp loop) {
    loop.walk([&](memref::AllocaOp op) {
      if (isShared(op))
        bytes = end(op, bytes);
    });
  }
  void place(mlir::gpu::LaunchOp launch) const {
    SmallVector<memref::AllocaOp> ops;
    launch.walk([&](memref::AllocaOp op) {
      if (isShared(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    ImplicitLocOpBuilder b(launch.getLoc(), launch);
    b.setInsertionPointToStart(&launch.getBody().front());
    auto all = MemRefType::get(ShapedType::kDynamic, b.getI8Type(), MemRefLayoutAttrInterface(),
                               ops.front().getType().getMemorySpace());
    Value memory = mlir::gpu::DynamicSharedMemoryOp::create(b, all);
    int64_t next = 0;
    for (memref::AllocaOp op : ops) {
      Value first = arith::ConstantIndexOp::create(b, llvm::alignTo(next, alignment));
      next = end(op, next);
      op.replaceAllUsesWith(
          memref::ViewOp::create(b, op.getType(), memory, first, ValueRange()).getResult());
      op.erase();
    }
  }
  int64_t bytes = 0;

private:
  static constexpr int64_t alignment = 16; // of vectors and asynchronous copies
  static bool isShared(memref::AllocaOp op) {
    return mlir::gpu::GPUDialect::isWorkgroupMemoryAddressSpace(op.getType().getMemorySpace());
  }
  static int64_t end(memref::AllocaOp op, int64_t start) {
    MemRefType type = op.getType();
    return llvm::alignTo(start, alignment) +
           type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
};

struct MapThreadsPass : mlir::transformer::impl::MapThreadsBase<MapThreadsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<scf::ParallelOp> loops;
      function.walk<WalkOrder::PreOrder>([&](scf::ParallelOp loop) {
        loops.push_back(loop);
        return WalkResult::skip();
      });
      for (auto [i, loop] : llvm::enumerate(loops)) {
        if (!isPlain(loop)) {
          loop.emitOpError("cannot be launched: expected loops from 0 by 1 without results");
          return signalPassFailure();
        }
        launch(loop, kernelName(function.getName(), i));
      }
    }
  }

private:
  /// Constant buffers that are read inside: the address of the host's says nothing to a device.
  static void takeConstants(mlir::gpu::LaunchOp launch) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(launch.getBody(), captured);
    OpBuilder b = OpBuilder::atBlockBegin(&launch.getBody().front());
    for (Value value : captured)
      if (Operation *global = value.getDefiningOp<memref::GetGlobalOp>())
        replaceAllUsesInRegionWith(value, b.clone(*global)->getResult(0), launch.getBody());
  }

  /// What tells of a matrix the host makes: it is a parameter of the kernel.
  static void hoistTensorMaps(mlir::gpu::LaunchOp launch) {
    SmallVector<simt::TensorMapOp> maps;
    launch.walk([&](simt::TensorMapOp map) { maps.push_back(map); });
    for (simt::TensorMapOp map : maps)
      map->moveBefore(launch);
  }

  /// In front of the loop: what it says of itself, or what can be seen.
  static kernel::WorkOp takeWork(scf::ParallelOp loop) {
    auto works = loop.getBody()->getOps<kernel::WorkOp>();
    if (!works.empty()) {
      kernel::WorkOp work = *works.begin();
      work->moveBefore(loop);
      return work;
    }
    simt::Loops b(loop);
    auto [work, amounts] = simt::elementwiseWork(b, loop);
    return kernel::WorkOp::create(b, TypeRange(), amounts,
                                  workAttr(b.getContext(), work).getValue());
  }

  void launch(scf::ParallelOp loop, const std::string &name) {
    kernel::WorkOp work = takeWork(loop);
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    SharedMemory shared(loop);
    bool isBlock = shared.bytes > 0; // the last dimension is its threads
    ValueRange bounds = isBlock ? loop.getUpperBound().drop_back() : loop.getUpperBound();
    Value one = index(1), block = isBlock ? loop.getUpperBound().back() : index(threads);
    Value total = one, bytes;
    for (Value bound : bounds)
      total = arith::MulIOp::create(b, total, bound);
    Value blocks = isBlock ? total : arith::CeilDivUIOp::create(b, total, block);
    blocks = arith::MaxUIOp::create(b, blocks, one); // an empty grid is no launch
    if (isBlock)
      bytes = arith::ConstantIntOp::create(b, shared.bytes, 32);
    auto launch = mlir::gpu::LaunchOp::create(
        b, blocks, one, one, block, one, one, bytes, Type(), ValueRange(), TypeRange(), TypeRange(),
        Value(), Value(), Value(), FlatSymbolRefAttr::get(b.getContext(), "kernels"),
        FlatSymbolRefAttr::get(b.getContext(), name));
    b.setInsertionPointToStart(&launch.getBody().front());
    Value thread = launch.getBlockIds().x;
    if (!isBlock)
      thread = arith::AddIOp::create(b, arith::MulIOp::create(b, thread, block),
                                     launch.getThreadIds().x);
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, total);
    auto body = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    mlir::gpu::TerminatorOp::create(b);
    b.setInsertionPoint(body.thenBlock()->getTerminator());
    IRMapping map;
    // What is left for the first dimension is below its bound, which alone is seldom a constant: a
    // division by another is a subroutine.
    for (int64_t d = static_cast<int64_t>(bounds.size()) - 1; d > 0; --d) {
      Value bound = loop.getUpperBound()[d];
      map.map(loop.getInductionVars()[d], arith::RemUIOp::create(b, thread, bound).getResult());
      thread = arith::DivUIOp::create(b, thread, bound);
    }
    if (!bounds.empty())
      map.map(loop.getInductionVars()[0], thread);
    if (isBlock)
      map.map(loop.getInductionVars().back(), launch.getThreadIds().x);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, map);
    loop.erase();
    hoistTensorMaps(launch);
    takeConstants(launch);
    shared.place(launch);
    work->moveBefore(launch);
  }
};

} // namespace
