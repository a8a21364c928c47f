//===- ScalarsToThreads.cpp - scalar code on device memory to a thread ----===//
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SCALARSTOTHREADS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What `op` and all in it do to memory is of this kind alone; pure ops do nothing.
template <typename... Kinds> bool hasOnlyEffects(Operation &op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(&op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<Kinds...>(effect.getEffect());
         });
}

/// Scalar code of a block between two ops that launch or call something.
class Run {
public:
  explicit Run(Operation *first) : next(first) {}

  /// Takes in what follows that belongs to a thread, up to an op that does more; that op.
  Operation *extend() {
    Operation *first = next;
    for (; !isBoundary(*next); next = next->getNextNode())
      if (isOfThread(*next))
        ops.insert(next);
    // What is read for these alone.
    if (!ops.empty())
      for (Operation *op = next->getPrevNode(); op; op = op->getPrevNode()) {
        if (!ops.contains(op) && !op->use_empty() && !op->hasTrait<OpTrait::ConstantLike>() &&
            hasOnlyEffects<MemoryEffects::Read>(*op) && !isReadOutside(op))
          ops.insert(op);
        if (op == first)
          break;
      }
    return next;
  }

  /// Moves it to a thread in front of its end. What others read of it goes through memory.
  LogicalResult move() {
    if (ops.empty())
      return success();
    SmallVector<Operation *> order(ops.begin(), ops.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ImplicitLocOpBuilder b(order.front()->getLoc(), next);
    SmallVector<std::pair<Value, Value>> read; // a value, and memory for it
    for (Operation *op : order)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !contains(user); }))
          read.emplace_back(result,
                            memref::AllocOp::create(b, MemRefType::get({}, result.getType())));
    Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
    auto thread = scf::ParallelOp::create(b, ValueRange{zero}, ValueRange{one}, ValueRange{one});
    b.setInsertionPointToStart(thread.getBody());
    IRMapping map;
    for (Operation *op : order)
      b.clone(*op, map);
    for (auto [value, memory] : read) {
      memref::StoreOp::create(b, map.lookup(value), memory);
      if (failed(readFrom(memory, value)))
        return failure();
    }
    for (Operation *op : llvm::reverse(order))
      op->erase();
    return success();
  }

private:
  static bool isBoundary(Operation &op) {
    auto launches = [&] { // the host chooses between kernels
      return op.walk([](scf::ParallelOp) { return WalkResult::interrupt(); }).wasInterrupted();
    };
    return isa<func::CallOp>(op) || launches() || op.hasTrait<OpTrait::IsTerminator>() ||
           !hasOnlyEffects<MemoryEffects::Read, MemoryEffects::Write, MemoryEffects::Allocate>(op);
  }

  /// Whether `op` writes, or computes with what a kernel may have written. Integers that sizes may
  /// follow from stay with the host.
  bool isOfThread(Operation &op) const {
    if (isa<memref::AllocOp>(op))
      return false;
    if (!hasOnlyEffects<MemoryEffects::Read>(op))
      return true;
    bool reads = !isMemoryEffectFree(&op);
    auto isReal = [](Type type) { return isa<FloatType>(type); };
    if (reads && llvm::any_of(op.getResultTypes(), isReal))
      return true;
    if (reads && !op.use_empty() &&
        llvm::all_of(op.getUsers(), [](Operation *user) { return isa<arith::SIToFPOp>(user); }))
      return true;
    return op
        .walk([&](Operation *inner) {
          auto isOurs = [&](Value v) { return v.getDefiningOp() && contains(v.getDefiningOp()); };
          return llvm::any_of(inner->getOperands(), isOurs) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether `op` is in the run, or in an op that is.
  bool contains(Operation *op) const {
    for (; op; op = op->getParentOp())
      if (ops.contains(op))
        return true;
    return false;
  }
  bool isReadOutside(Operation *op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return !contains(user); });
  }

  /// What uses `value` loads it: threads, and scalar code of a later run.
  LogicalResult readFrom(Value memory, Value value) {
    Block *block = next->getBlock();
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      if (contains(user))
        continue;
      Operation *outer = block->findAncestorOpInBlock(*user);
      auto threads = dyn_cast<scf::ParallelOp>(outer);
      if (outer == user && (isBoundary(*outer) || !isa<FloatType>(value.getType())))
        return user->emitOpError("needs a number of the device's memory on the host");
      OpBuilder b(outer);
      if (threads)
        b.setInsertionPointToStart(threads.getBody());
      use.set(memref::LoadOp::create(b, user->getLoc(), memory));
    }
    return success();
  }

  llvm::SetVector<Operation *> ops;
  Operation *next;
};

struct ScalarsToThreadsPass : mlir::transformer::impl::ScalarsToThreadsBase<ScalarsToThreadsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Operation *op = &function.front().front();
      while (op) {
        Run run(op);
        op = run.extend()->getNextNode();
        if (failed(run.move()))
          return signalPassFailure();
      }
      if (failed(checkHost(function)))
        return signalPassFailure();
    }
  }

private:
  /// The host may read what it is given, not what kernels make of that.
  static LogicalResult checkHost(func::FuncOp function) {
    WalkResult result = function.walk<WalkOrder::PreOrder>([](Operation *op) {
      if (isa<scf::ParallelOp>(op))
        return WalkResult::skip();
      auto load = dyn_cast<memref::LoadOp>(op);
      if (!load || isa<BlockArgument>(load.getMemRef()))
        return WalkResult::advance();
      load.emitOpError("of the host reads the device's memory");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
