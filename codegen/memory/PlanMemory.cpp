//===- PlanMemory.cpp - a place in one arena for every buffer -------------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/CallGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  memref::AllocOp op;
  int64_t begin, end;
  int64_t bytes;  // of one item of its part, a multiple of the alignment
  int64_t offset; // likewise, in the part
  bool overlaps(const Piece &other) const { return begin <= other.end && other.begin <= end; }
};

/// A part of the arena for all pieces whose dynamic sizes are the same values: as many items as
/// their product says, so places can be chosen although nobody knows yet how many these are.
struct Part {
  SmallVector<Value> sizes;
  SmallVector<Piece> pieces;
  int64_t bytes = 0; // of one item
  Value items, offset;
};

/// What a function needs of the arena.
struct Need {
  func::FuncOp bytes;            // `@f.arena_bytes`
  std::optional<int64_t> always; // where it is the same in all calls
};
using Needs = llvm::DenseMap<StringRef, Need>;

/// Plans one function; its callees have been planned.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function, const Needs &needs)
      : function(function), needs(needs), b(function.getLoc(), OpBuilder(function.getContext())) {}

  FailureOr<Need> run() {
    if (failed(collect()))
      return failure();
    for (Part &part : parts)
      assignOffsets(part);
    func::FuncOp size = emitSizeFunction();
    Value arena = addArena(function);
    b.setInsertionPointToStart(&function.front());
    IRMapping map;
    for (Value argument : function.getArguments())
      map.map(argument, argument);
    emitPlan(map);
    for (Part &part : parts)
      for (const Piece &piece : part.pieces)
        place(part, piece, arena);
    for (func::CallOp call : calls)
      passMemory(call, arena);
    return Need{size, alwaysNeeded()};
  }

private:
  LogicalResult collect() {
    Block &block = function.front();
    takeOutOfLoops();
    llvm::DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;
    BufferViewFlowAnalysis aliases(function);
    SmallVector<memref::AllocOp> ofTasks;
    WalkResult nested = function.walk([&](memref::AllocOp alloc) {
      if (alloc->getBlock() == &block)
        return WalkResult::advance();
      if (isa<scf::ForallOp>(alloc->getParentOp()) && alloc.getType().hasStaticShape()) {
        ofTasks.push_back(alloc);
        return WalkResult::advance();
      }
      alloc.emitOpError("inside a loop cannot be given a place in the arena");
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted())
      return failure();
    for (memref::AllocOp alloc : ofTasks)
      putOnStack(alloc);
    function.walk([&](func::CallOp call) {
      if (needs.contains(call.getCallee()))
        calls.push_back(call);
    });
    for (Operation &op : block) {
      auto alloc = dyn_cast<memref::AllocOp>(op);
      if (!alloc)
        continue;
      Piece piece{alloc, position[&op], position[&op], bytesOfItem(alloc.getType()), 0};
      for (Value alias : aliases.resolve(alloc))
        for (Operation *user : alias.getUsers())
          if (Operation *ancestor = block.findAncestorOpInBlock(*user))
            piece.end = std::max(piece.end, position[ancestor]);
      partOf(alloc.getDynamicSizes()).pieces.push_back(piece);
    }
    return success();
  }

  /// Buffers of a loop's turn, of a size that all turns have, are the loop's; those of a branch
  /// belong to what is around it.
  void takeOutOfLoops() {
    SmallVector<memref::AllocOp> allocs;
    function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      auto isSizedOutside = [&](Operation *around) {
        return llvm::none_of(alloc.getOperands(), [&](Value size) {
          return around->isAncestor(size.getParentBlock()->getParentOp());
        });
      };
      while (isa<scf::ForOp, scf::IfOp>(alloc->getParentOp()) &&
             isSizedOutside(alloc->getParentOp()))
        alloc->moveBefore(alloc->getParentOp());
    }
  }

  /// What a task keeps for itself is its thread's.
  void putOnStack(memref::AllocOp alloc) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(alloc);
    auto own = memref::AllocaOp::create(b, alloc.getType(), b.getI64IntegerAttr(kAlignment));
    alloc.replaceAllUsesWith(own.getResult());
    alloc.erase();
  }

  Part &partOf(ValueRange sizes) {
    auto found = llvm::find_if(parts, [&](Part &part) { return llvm::equal(part.sizes, sizes); });
    if (found != parts.end())
      return *found;
    Part &part = parts.emplace_back();
    llvm::append_range(part.sizes, sizes);
    return part;
  }

  static int64_t bytesOfItem(MemRefType type) {
    int64_t bytes = type.getElementType().isIndex()
                        ? 8
                        : llvm::divideCeil(type.getElementTypeBitWidth(), 8); // a bool is a byte
    for (int64_t size : type.getShape())
      if (!ShapedType::isDynamic(size))
        bytes *= size;
    return llvm::alignTo(bytes, kAlignment);
  }

  /// The largest pieces choose first, each the lowest place that is free while it is alive.
  static void assignOffsets(Part &part) {
    llvm::sort(part.pieces, [](const Piece &a, const Piece &b) {
      return std::pair(-a.bytes, a.begin) < std::pair(-b.bytes, b.begin);
    });
    for (auto [i, piece] : llvm::enumerate(part.pieces)) {
      SmallVector<const Piece *> others; // in the order of their places
      for (const Piece &other : ArrayRef(part.pieces).take_front(i))
        if (other.overlaps(piece))
          others.push_back(&other);
      llvm::sort(others, [](const Piece *a, const Piece *b) { return a->offset < b->offset; });
      for (const Piece *other : others)
        if (piece.offset + piece.bytes > other->offset)
          piece.offset = std::max(piece.offset, other->offset + other->bytes);
      part.bytes = std::max(part.bytes, piece.offset + piece.bytes);
    }
  }

  Value emitIndex(int64_t v) { return arith::ConstantIndexOp::create(b, v); }

  /// The bytes that a call's callee needs, on mapped values.
  Value emitNeed(func::CallOp call, IRMapping &map) {
    for (Value operand : call.getOperands())
      cloneSlice(operand, map);
    auto operands = llvm::map_to_vector(call.getOperands(), [&](Value v) { return map.lookup(v); });
    return func::CallOp::create(b, needs.at(call.getCallee()).bytes, operands).getResult(0);
  }

  std::optional<int64_t> alwaysNeeded() {
    int64_t own = 0, ofCallees = 0;
    for (const Part &part : parts) {
      if (!part.sizes.empty())
        return std::nullopt;
      own += part.bytes;
    }
    for (func::CallOp call : calls) {
      std::optional<int64_t> bytes = needs.at(call.getCallee()).always;
      if (!bytes)
        return std::nullopt;
      ofCallees = std::max(ofCallees, *bytes);
    }
    return own + ofCallees;
  }

  /// Emits where parts begin, on the call's actual sizes; returns the end of the last, behind
  /// which is what callees need, one after the other.
  Value emitPlan(IRMapping &map) {
    dummy = {};
    Value end = emitIndex(0);
    for (Part &part : parts) {
      part.items = emitIndex(1);
      for (Value size : part.sizes) {
        cloneSlice(size, map);
        part.items = arith::MulIOp::create(b, part.items, map.lookup(size));
      }
      part.offset = end;
      Value bytes = arith::MulIOp::create(b, part.items, emitIndex(part.bytes));
      end = arith::AddIOp::create(b, end, bytes);
    }
    int64_t known = 0; // of callees that say so without looking at their arguments
    for (func::CallOp call : calls)
      known = std::max(known, needs.at(call.getCallee()).always.value_or(0));
    need = emitIndex(known);
    for (func::CallOp call : calls)
      if (!needs.at(call.getCallee()).always)
        need = arith::MaxUIOp::create(b, need, emitNeed(call, map));
    endOfParts = end;
    return arith::AddIOp::create(b, end, need);
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
    if (auto argument = dyn_cast<BlockArgument>(value)) // of a loop, whose first turn needs most
      return cloneFirst(argument, map);
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

  void cloneFirst(BlockArgument argument, IRMapping &map) {
    auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
    OpOperand *init = loop.getTiedLoopInit(argument);
    Value first = init ? init->get() : loop.getLowerBound();
    cloneSlice(first, map);
    map.map(argument, map.lookup(first));
  }

  static Value addArena(func::FuncOp function) {
    auto type = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(function.getContext(), 8));
    (void)function.insertArgument(function.getNumArguments(), type, {}, function.getLoc());
    return function.getArguments().back();
  }

  /// Puts a piece where it belongs in the arena.
  void place(const Part &part, const Piece &piece, Value arena) {
    memref::AllocOp alloc = piece.op;
    b.setInsertionPoint(alloc);
    Value offset = arith::MulIOp::create(b, part.items, emitIndex(piece.offset));
    offset = arith::AddIOp::create(b, part.offset, offset);
    Value view = memref::ViewOp::create(b, alloc.getType(), arena, offset, alloc.getDynamicSizes());
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }

  void passMemory(func::CallOp call, Value arena) {
    b.setInsertionPoint(call);
    auto type = cast<MemRefType>(arena.getType());
    Value rest = memref::ViewOp::create(b, type, arena, endOfParts, ValueRange{need});
    call->insertOperands(call.getNumOperands(), rest);
  }

  func::FuncOp function;
  const Needs &needs;
  ImplicitLocOpBuilder b;
  SmallVector<Part> parts;
  SmallVector<func::CallOp> calls;
  Value dummy, endOfParts, need;
};

struct PlanMemoryPass : mlir::transformer::impl::PlanMemoryBase<PlanMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Needs needs;
    for (func::FuncOp function : calleesFirst(module)) {
      WalkResult recursion = function.walk([&](func::CallOp call) {
        auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
        if (!callee || callee.isExternal() || needs.contains(call.getCallee()))
          return WalkResult::advance();
        call.emitOpError("is recursive; its memory cannot be planned");
        return WalkResult::interrupt();
      });
      if (recursion.wasInterrupted())
        return signalPassFailure();
      FailureOr<Need> need = FunctionPlanner(function, needs).run();
      if (failed(need))
        return signalPassFailure();
      needs[function.getName()] = *need;
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
