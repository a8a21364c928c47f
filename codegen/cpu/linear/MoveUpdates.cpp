//===- MoveUpdates.cpp - an optimizer's update into a product's tasks -----===//
//
// An update waits for memory and a product for its own arithmetic. Each task of the product gets
// as many rows of the update as the others; UpdateInTiles.cpp divides them between its tiles.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/ElementwiseVectors.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MOVEUPDATES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What a buffer is a part of.
Value rootOf(Value buffer) { return memref::skipViewLikeOps(cast<MemrefValue>(buffer)); }

/// What the op reads and writes, if it updates several arguments of the function, row by row:
/// nothing else has their memory.
SmallVector<Value> updatedBuffers(linalg::GenericOp op, cpu::TargetAttr target) {
  if (op.getNumLoops() != 2 || op.getNumDpsInits() < 2 || !canEmitVectors(op) ||
      op.getStaticLoopRanges().back() % target.getVectorLanes())
    return {};
  SmallVector<Value> roots;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    Value root = rootOf(operand.get());
    auto argument = dyn_cast<BlockArgument>(root);
    if (!op.getMatchingIndexingMap(&operand).isIdentity() || !argument ||
        !isa<func::FuncOp>(argument.getOwner()->getParentOp()) || llvm::is_contained(roots, root))
      return {};
    roots.push_back(root);
  }
  return roots;
}

bool touches(Operation *op, ArrayRef<Value> roots) {
  if (isa<ViewLikeOpInterface, memref::DimOp>(op) || isCopyToItself(op))
    return false;
  return op
      ->walk([&](Operation *inner) {
        bool isUser = llvm::any_of(inner->getOperands(), [&](Value operand) {
          return isa<MemrefValue>(operand) && llvm::is_contained(roots, rootOf(operand));
        });
        return isUser ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// How many tasks there are along each dimension, where that does not depend on tokens; else none.
/// A task of several panels is a step of as many.
SmallVector<int64_t> countTasks(scf::ForallOp tasks) {
  ArrayRef<int64_t> ends = tasks.getStaticUpperBound(), steps = tasks.getStaticStep();
  if (ShapedType::isDynamicShape(ends) || ShapedType::isDynamicShape(steps) ||
      llvm::is_contained(ends, 0) || !llvm::all_of(tasks.getMixedLowerBound(), isZeroInteger))
    return {};
  return llvm::map_to_vector(llvm::zip_equal(ends, steps), [](auto dimension) -> int64_t {
    return llvm::divideCeil(std::get<0>(dimension), std::get<1>(dimension));
  });
}

/// Whether tasks, however few tokens there are, multiply registers' tiles.
bool isProduct(Operation *op) {
  auto tasks = dyn_cast<scf::ForallOp>(op);
  return tasks && !countTasks(tasks).empty() &&
         tasks
             .walk([](scf::ForOp loop) {
               return isPart(loop, LinearPart::Loop) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
             })
             .wasInterrupted();
}

/// The product behind `op` whose tasks may make the update; null: there is none.
scf::ForallOp productBehind(linalg::GenericOp op, ArrayRef<Value> roots) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    if (touches(next, roots))
      return {};
    if (isProduct(next))
      return cast<scf::ForallOp>(next);
  }
  return {};
}

/// The number of the task at hand.
Value numberOfTask(ImplicitLocOpBuilder &b, scf::ForallOp tasks) {
  Value number = arith::ConstantIndexOp::create(b, 0);
  for (auto [variable, step, count] :
       llvm::zip_equal(tasks.getInductionVars(), tasks.getStaticStep(), countTasks(tasks))) {
    Value own = arith::DivUIOp::create(b, variable, arith::ConstantIndexOp::create(b, step));
    number = arith::MulIOp::create(b, number, arith::ConstantIndexOp::create(b, count));
    number = arith::AddIOp::create(b, number, own);
  }
  return number;
}

void move(linalg::GenericOp op, scf::ForallOp tasks) {
  ImplicitLocOpBuilder b(op.getLoc(), tasks);
  Value rows = memref::DimOp::create(b, op.getDpsInitOperand(0)->get(), 0);
  Value count = arith::ConstantIndexOp::create(b, llvm::product_of(countTasks(tasks)));
  Value share = arith::CeilDivUIOp::create(b, rows, count);
  b.setInsertionPointToStart(tasks.getBody());
  Value first = arith::MulIOp::create(b, numberOfTask(b, tasks), share);
  first = arith::MinUIOp::create(b, first, rows);
  Value own = arith::MinUIOp::create(b, arith::SubIOp::create(b, rows, first), share);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
               width = b.getIndexAttr(op.getStaticLoopRanges().back());
  IRMapping map;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType())) {
      Value part = memref::SubViewOp::create(b, operand, ArrayRef<OpFoldResult>{first, zero},
                                             ArrayRef<OpFoldResult>{own, width},
                                             ArrayRef<OpFoldResult>{one, one});
      map.map(operand, part);
    }
  markPart(b.clone(*op, map), LinearPart::Beside);
  op.erase();
}

struct MoveUpdatesPass : mlir::transformer::impl::MoveUpdatesBase<MoveUpdatesPass> {
  using Base::Base;
  void runOnOperation() override {
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    if (getOperation().isExternal() || !target.hidesUpdates())
      return;
    for (auto op : llvm::make_early_inc_range(getOperation().front().getOps<linalg::GenericOp>()))
      if (SmallVector<Value> roots = updatedBuffers(op, target); !roots.empty())
        if (scf::ForallOp tasks = productBehind(op, roots))
          move(op, tasks);
  }
};

} // namespace
