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

/// How many tasks there are, where that does not depend on tokens; else 0.
int64_t countTasks(scf::ForallOp tasks) {
  ArrayRef<int64_t> sizes = tasks.getStaticUpperBound();
  if (!tasks.isNormalized() || ShapedType::isDynamicShape(sizes))
    return 0;
  return ShapedType::getNumElements(sizes);
}

/// Whether tasks, however few tokens there are, multiply registers' tiles.
bool isProduct(Operation *op) {
  auto tasks = dyn_cast<scf::ForallOp>(op);
  return tasks && countTasks(tasks) > 0 &&
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
  for (auto [variable, size] :
       llvm::zip_equal(tasks.getInductionVars(), tasks.getStaticUpperBound())) {
    number = arith::MulIOp::create(b, number, arith::ConstantIndexOp::create(b, size));
    number = arith::AddIOp::create(b, number, variable);
  }
  return number;
}

void move(linalg::GenericOp op, scf::ForallOp tasks) {
  ImplicitLocOpBuilder b(op.getLoc(), tasks);
  Value rows = memref::DimOp::create(b, op.getDpsInitOperand(0)->get(), 0);
  Value count = arith::ConstantIndexOp::create(b, countTasks(tasks));
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
