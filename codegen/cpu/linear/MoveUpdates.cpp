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
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MOVEUPDATES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What a buffer is a part of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool isCopyToItself(Operation *op) {
  auto copy = dyn_cast<memref::CopyOp>(op);
  return copy && copy.getSource() == copy.getTarget();
}

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
          return isa<BaseMemRefType>(operand.getType()) &&
                 llvm::is_contained(roots, rootOf(operand));
        });
        return isUser ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether tasks multiply registers' tiles, beside which there is room.
bool isProduct(Operation *op) {
  auto tasks = dyn_cast<scf::ForallOp>(op);
  return tasks && tasks
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

/// How many tasks there are, in front of them, and the number of the one at hand, in it.
std::pair<Value, Value> countTasks(ImplicitLocOpBuilder &b, scf::ForallOp tasks) {
  Value count = arith::ConstantIndexOp::create(b, 1), number = arith::ConstantIndexOp::create(b, 0);
  for (auto [variable, lower, upper, step] :
       llvm::zip_equal(tasks.getInductionVars(), tasks.getMixedLowerBound(),
                       tasks.getMixedUpperBound(), tasks.getMixedStep())) {
    auto valueOf = [&](OpFoldResult bound) {
      return getValueOrCreateConstantIndexOp(b, b.getLoc(), bound);
    };
    b.setInsertionPoint(tasks);
    Value first = valueOf(lower), apart = valueOf(step);
    Value size = arith::SubIOp::create(b, valueOf(upper), first);
    size = arith::CeilDivUIOp::create(b, size, apart);
    count = arith::MulIOp::create(b, count, size);
    b.setInsertionPointToStart(tasks.getBody());
    if (Operation *before = number.getDefiningOp(); before->getBlock() == tasks.getBody())
      b.setInsertionPointAfter(before);
    Value own = arith::SubIOp::create(b, variable, first);
    own = arith::DivUIOp::create(b, own, apart);
    number = arith::AddIOp::create(b, arith::MulIOp::create(b, number, size), own);
  }
  return {count, number};
}

void move(linalg::GenericOp op, scf::ForallOp tasks) {
  ImplicitLocOpBuilder b(op.getLoc(), tasks);
  auto [count, number] = countTasks(b, tasks);
  b.setInsertionPoint(tasks);
  Value rows = memref::DimOp::create(b, op.getDpsInitOperand(0)->get(), 0);
  Value share = arith::CeilDivUIOp::create(b, rows, count);
  b.setInsertionPointAfterValue(number);
  Value first = arith::MinUIOp::create(b, arith::MulIOp::create(b, number, share), rows);
  Value own = arith::MinUIOp::create(b, arith::SubIOp::create(b, rows, first), share);
  int64_t width = op.getStaticLoopRanges().back();
  IRMapping map;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType())) {
      OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
      map.map(operand,
              memref::SubViewOp::create(b, operand, SmallVector<OpFoldResult>{first, zero},
                                        SmallVector<OpFoldResult>{own, b.getIndexAttr(width)},
                                        SmallVector<OpFoldResult>{one, one})
                  .getResult());
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
    if (target.matrixRows()) // registers' products leave no time to hide anything in
      return;
    for (auto op : llvm::make_early_inc_range(getOperation().front().getOps<linalg::GenericOp>()))
      if (SmallVector<Value> roots = updatedBuffers(op, target); !roots.empty())
        if (scf::ForallOp tasks = productBehind(op, roots))
          move(op, tasks);
  }
};

} // namespace
