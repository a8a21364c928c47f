//===- MapThreads.cpp - parallel loops to launches ------------------------===//
#include "codegen/gpu/Passes.h"
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

  void launch(scf::ParallelOp loop, const std::string &name) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    Value one = index(1), block = index(threads), total = one;
    for (Value bound : loop.getUpperBound())
      total = arith::MulIOp::create(b, total, bound);
    Value blocks = arith::CeilDivUIOp::create(b, total, block);
    blocks = arith::MaxUIOp::create(b, blocks, one); // an empty grid is no launch
    auto launch = mlir::gpu::LaunchOp::create(
        b, blocks, one, one, block, one, one, Value(), Type(), ValueRange(), TypeRange(),
        TypeRange(), Value(), Value(), Value(), FlatSymbolRefAttr::get(b.getContext(), "kernels"),
        FlatSymbolRefAttr::get(b.getContext(), name));
    b.setInsertionPointToStart(&launch.getBody().front());
    Value first = arith::MulIOp::create(b, launch.getBlockIds().x, block);
    Value thread = arith::AddIOp::create(b, first, launch.getThreadIds().x);
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, total);
    auto body = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    mlir::gpu::TerminatorOp::create(b);
    b.setInsertionPoint(body.thenBlock()->getTerminator());
    IRMapping map;
    // What is left for the first dimension is below its bound, which alone is seldom a constant: a
    // division by another is a subroutine.
    for (int64_t d = loop.getNumLoops() - 1; d > 0; --d) {
      Value bound = loop.getUpperBound()[d];
      map.map(loop.getInductionVars()[d], arith::RemUIOp::create(b, thread, bound).getResult());
      thread = arith::DivUIOp::create(b, thread, bound);
    }
    map.map(loop.getInductionVars()[0], thread);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, map);
    loop.erase();
    takeConstants(launch);
  }
};

} // namespace
