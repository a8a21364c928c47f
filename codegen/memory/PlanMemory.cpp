//===- PlanMemory.cpp - a place in one arena for every buffer -------------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/CallGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PLANMEMORY
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Buffers start on cache lines.
constexpr int64_t kAlignment = 64;

/// A piece of the arena, alive from one op of the function's block to another.
struct Piece {
  Operation *op; // a memref.alloc, or a call whose callee needs memory
  int64_t begin, end;
  int64_t bytes; // the static factor of the size: a hint which pieces are alike
  unsigned slot = 0;
  bool overlaps(const Piece &other) const { return begin <= other.end && other.begin <= end; }
};

/// A part of the arena that pieces share one after the other, as large as the
/// largest of them.
struct Slot {
  SmallVector<unsigned> pieces;
  Value size, offset;
};

/// Plans one function; its callees have been planned.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function,
                  const llvm::DenseMap<StringRef, func::FuncOp> &sizeFunctions)
      : function(function), sizeFunctions(sizeFunctions),
        b(function.getLoc(), OpBuilder(function.getContext())) {}

  /// Returns the function `@f.arena_bytes`.
  FailureOr<func::FuncOp> run() {
    if (failed(collect()))
      return failure();
    assignSlots();
    func::FuncOp size = emitSizeFunction();
    Value arena = addArena(function);
    b.setInsertionPointToStart(&function.front());
    IRMapping map;
    for (Value argument : function.getArguments())
      map.map(argument, argument);
    emitPlan(map);
    for (const Piece &piece : pieces)
      place(piece, arena);
    return size;
  }

private:
  LogicalResult collect() {
    Block &block = function.front();
    llvm::DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;
    BufferViewFlowAnalysis aliases(function);
    WalkResult nested = function.walk([&](memref::AllocOp alloc) {
      if (alloc->getBlock() == &block)
        return WalkResult::advance();
      alloc.emitOpError("inside a loop cannot be given a place in the arena");
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted())
      return failure();
    for (Operation &op : block) {
      if (auto call = dyn_cast<func::CallOp>(op); call && sizeFunctions.contains(call.getCallee()))
        pieces.push_back({call, position[&op], position[&op], INT64_MAX});
      auto alloc = dyn_cast<memref::AllocOp>(op);
      if (!alloc)
        continue;
      Piece piece{alloc, position[&op], position[&op], staticBytes(alloc.getType())};
      for (Value alias : aliases.resolve(alloc))
        for (Operation *user : alias.getUsers())
          if (Operation *ancestor = block.findAncestorOpInBlock(*user))
            piece.end = std::max(piece.end, position[ancestor]);
      pieces.push_back(piece);
    }
    return success();
  }

  static int64_t staticBytes(MemRefType type) {
    int64_t bytes = type.getElementType().isIndex()
                        ? 8
                        : llvm::divideCeil(type.getElementTypeBitWidth(), 8); // a bool is a byte
    for (int64_t size : type.getShape())
      if (!ShapedType::isDynamic(size))
        bytes *= size;
    return bytes;
  }

  /// Each piece takes the free slot whose pieces are most like it in size, or a
  /// new one where none is free.
  void assignSlots() {
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Slot *best = nullptr;
      int64_t bestDistance = 0;
      for (Slot &slot : slots) {
        if (llvm::any_of(slot.pieces, [&](unsigned p) { return pieces[p].overlaps(piece); }))
          continue;
        int64_t distance = std::abs(pieces[slot.pieces.front()].bytes - piece.bytes);
        if (!best || distance < bestDistance) {
          best = &slot;
          bestDistance = distance;
        }
      }
      if (!best)
        best = &slots.emplace_back();
      best->pieces.push_back(i);
      piece.slot = best - slots.data();
    }
  }

  /// Bytes of a piece, rounded up to the alignment, from mapped values.
  Value emitSize(const Piece &piece, const IRMapping &map) {
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    Value size;
    if (auto call = dyn_cast<func::CallOp>(piece.op)) {
      auto operands =
          llvm::map_to_vector(call.getOperands(), [&](Value v) { return map.lookup(v); });
      size = func::CallOp::create(b, sizeFunctions.lookup(call.getCallee()), operands).getResult(0);
    } else {
      size = index(piece.bytes);
      for (Value dynamic : cast<memref::AllocOp>(piece.op).getDynamicSizes())
        size = arith::MulIOp::create(b, size, map.lookup(dynamic));
    }
    return arith::AndIOp::create(b, arith::AddIOp::create(b, size, index(kAlignment - 1)),
                                 index(-kAlignment));
  }

  /// Emits sizes and offsets of all slots, on the call's actual sizes; returns
  /// the end of the last.
  Value emitPlan(IRMapping &map) {
    dummy = {};
    Value end = arith::ConstantIndexOp::create(b, 0);
    for (Slot &slot : slots) {
      slot.size = {};
      for (unsigned i : slot.pieces) {
        for (Value operand : pieces[i].op->getOperands())
          cloneSlice(operand, map);
        Value size = emitSize(pieces[i], map);
        slot.size = slot.size ? arith::MaxUIOp::create(b, slot.size, size).getResult() : size;
      }
      slot.offset = end;
      end = arith::AddIOp::create(b, end, slot.size);
    }
    return end;
  }

  /// `@f.arena_bytes`: the slice of the function that computes sizes.
  func::FuncOp emitSizeFunction() {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(function);
    auto type = b.getFunctionType(function.getArgumentTypes(), {b.getIndexType()});
    auto size = func::FuncOp::create(b, (function.getName() + ".arena_bytes").str(), type);
    size.setPrivate();
    Block *entry = size.addEntryBlock();
    b.setInsertionPointToStart(entry);
    IRMapping map;
    map.map(function.getArguments(), entry->getArguments());
    func::ReturnOp::create(b, emitPlan(map));
    return size;
  }

  /// Clones what computes `value`. Of buffers only the shape matters here: they
  /// become views of a dummy that nobody reads.
  void cloneSlice(Value value, IRMapping &map) {
    if (map.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, used);
    for (Value operand : used)
      cloneSlice(operand, map);
    if (!isa<memref::AllocOp, kernel::GetParameterOp>(op)) {
      b.clone(*op, map);
      return;
    }
    if (!dummy)
      dummy = memref::AllocaOp::create(b, MemRefType::get({kAlignment}, b.getI8Type()));
    auto sizes = llvm::map_to_vector(op->getOperands(), [&](Value v) { return map.lookup(v); });
    Value zero = arith::ConstantIndexOp::create(b, 0);
    map.map(value, memref::ViewOp::create(b, cast<MemRefType>(value.getType()), dummy, zero, sizes)
                       .getResult());
  }

  static Value addArena(func::FuncOp function) {
    auto type = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(function.getContext(), 8));
    (void)function.insertArgument(function.getNumArguments(), type, {}, function.getLoc());
    return function.getArguments().back();
  }

  /// Puts a piece where it belongs in the arena.
  void place(const Piece &piece, Value arena) {
    const Slot &slot = slots[piece.slot];
    b.setInsertionPoint(piece.op);
    if (auto alloc = dyn_cast<memref::AllocOp>(piece.op)) {
      Value view =
          memref::ViewOp::create(b, alloc.getType(), arena, slot.offset, alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(view);
      alloc.erase();
      return;
    }
    auto call = cast<func::CallOp>(piece.op);
    Value rest = memref::ViewOp::create(b, cast<MemRefType>(arena.getType()), arena, slot.offset,
                                        ValueRange{slot.size});
    call->insertOperands(call.getNumOperands(), rest);
  }

  func::FuncOp function;
  const llvm::DenseMap<StringRef, func::FuncOp> &sizeFunctions;
  ImplicitLocOpBuilder b;
  SmallVector<Piece> pieces;
  SmallVector<Slot> slots;
  Value dummy;
};

struct PlanMemoryPass : mlir::transformer::impl::PlanMemoryBase<PlanMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<StringRef, func::FuncOp> sizeFunctions;
    for (func::FuncOp function : calleesFirst(module)) {
      for (func::CallOp call : function.getOps<func::CallOp>())
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
            callee && !callee.isExternal() && !sizeFunctions.contains(call.getCallee())) {
          call.emitOpError("is recursive; its memory cannot be planned");
          return signalPassFailure();
        }
      FailureOr<func::FuncOp> size = FunctionPlanner(function, sizeFunctions).run();
      if (failed(size))
        return signalPassFailure();
      sizeFunctions[function.getName()] = *size;
    }
    WalkResult left = module.walk([](memref::AllocOp op) {
      if (op->getParentOfType<func::FuncOp>().getName().ends_with(".arena_bytes"))
        return WalkResult::advance();
      op.emitOpError("is left after planning memory");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
