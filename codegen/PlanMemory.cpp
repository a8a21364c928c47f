//===- PlanMemory.cpp - a place in one arena for every buffer -------------===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
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

/// A piece of the arena, alive between two ops of the function's block.
struct Piece {
  Operation *op;   // a memref.alloc, or a call whose callee needs memory
  int64_t begin, end;
  Value size, offset;
  bool overlaps(const Piece &other) const { return begin <= other.end && other.begin <= end; }
};

/// Plans one function; its callees have been planned.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function, const llvm::DenseMap<StringRef, func::FuncOp> &sizeFunctions)
      : function(function), sizeFunctions(sizeFunctions),
        b(function.getLoc(), OpBuilder(function.getContext())) {}

  /// Returns the function `@f.arena_bytes`.
  FailureOr<func::FuncOp> run() {
    if (failed(collect()))
      return failure();
    func::FuncOp size = emitSizeFunction();
    Value arena = addArena(function);
    for (unsigned i = 0; i < pieces.size(); ++i) {
      b.setInsertionPoint(pieces[i].op);
      place(i, arena);
    }
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
        pieces.push_back({call, position[&op], position[&op], {}, {}});
      auto alloc = dyn_cast<memref::AllocOp>(op);
      if (!alloc)
        continue;
      Piece piece{alloc, position[&op], position[&op], {}, {}};
      for (Value alias : aliases.resolve(alloc))
        for (Operation *user : alias.getUsers())
          if (Operation *ancestor = block.findAncestorOpInBlock(*user))
            piece.end = std::max(piece.end, position[ancestor]);
      pieces.push_back(piece);
    }
    return success();
  }

  /// Bytes of a piece, from values that are available at the builder's place.
  Value sizeOf(const Piece &piece, IRMapping &map) {
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    if (auto call = dyn_cast<func::CallOp>(piece.op)) {
      SmallVector<Value> operands;
      for (Value operand : call.getOperands())
        operands.push_back(map.lookupOrDefault(operand));
      return func::CallOp::create(b, sizeFunctions.lookup(call.getCallee()), operands).getResult(0);
    }
    auto alloc = cast<memref::AllocOp>(piece.op);
    MemRefType type = alloc.getType();
    int64_t bytes = type.getElementType().isIndex() ? 8 : type.getElementTypeBitWidth() / 8;
    for (int64_t size : type.getShape())
      if (!ShapedType::isDynamic(size))
        bytes *= size;
    Value size = index(bytes);
    for (Value dynamic : alloc.getDynamicSizes())
      size = arith::MulIOp::create(b, size, map.lookupOrDefault(dynamic));
    return size;
  }

  /// Sets size and offset of piece `i` at the builder's place, on the call's
  /// actual sizes: a piece starts where the last of the earlier pieces that it
  /// shares time with ends.
  void emitPlace(unsigned i, IRMapping &map) {
    Piece &piece = pieces[i];
    Value round = arith::ConstantIndexOp::create(b, kAlignment - 1);
    Value mask = arith::ConstantIndexOp::create(b, -kAlignment);
    Value bytes = arith::AddIOp::create(b, sizeOf(piece, map), round);
    piece.size = arith::AndIOp::create(b, bytes, mask);
    piece.offset = arith::ConstantIndexOp::create(b, 0);
    for (const Piece &other : ArrayRef(pieces).take_front(i))
      if (piece.overlaps(other))
        piece.offset = arith::MaxUIOp::create(
            b, piece.offset, arith::AddIOp::create(b, other.offset, other.size));
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
    Value total = arith::ConstantIndexOp::create(b, 0);
    for (unsigned i = 0; i < pieces.size(); ++i) {
      for (Value operand : pieces[i].op->getOperands())
        cloneSlice(operand, map);
      emitPlace(i, map);
      Value end = arith::AddIOp::create(b, pieces[i].offset, pieces[i].size);
      total = arith::MaxUIOp::create(b, total, end);
    }
    func::ReturnOp::create(b, total);
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
    SmallVector<Value> sizes;
    for (Value operand : op->getOperands())
      sizes.push_back(map.lookup(operand));
    auto bytes = MemRefType::get({kAlignment}, b.getI8Type());
    Value dummy = memref::AllocaOp::create(b, bytes);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    map.map(value, memref::ViewOp::create(b, cast<MemRefType>(value.getType()), dummy, zero, sizes)
                       .getResult());
  }

  static Value addArena(func::FuncOp function) {
    auto type = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(function.getContext(), 8));
    Value arena = function.front().addArgument(type, function.getLoc());
    SmallVector<Type> inputs(function.getArgumentTypes());
    inputs.push_back(type);
    auto attributes = function.getArgAttrsAttr();
    function.setType(FunctionType::get(function.getContext(), inputs, {}));
    if (attributes) {
      SmallVector<Attribute> all(attributes.getValue());
      all.push_back(DictionaryAttr::get(function.getContext()));
      function.setArgAttrsAttr(ArrayAttr::get(function.getContext(), all));
    }
    return arena;
  }

  /// Puts piece `i` where it belongs in the arena.
  void place(unsigned i, Value arena) {
    IRMapping identity;
    emitPlace(i, identity);
    const Piece &piece = pieces[i];
    if (auto alloc = dyn_cast<memref::AllocOp>(piece.op)) {
      Value view = memref::ViewOp::create(b, alloc.getType(), arena, piece.offset,
                                          alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(view);
      alloc.erase();
      return;
    }
    auto call = cast<func::CallOp>(piece.op);
    Value rest = memref::ViewOp::create(b, cast<MemRefType>(arena.getType()), arena, piece.offset,
                                        ValueRange{piece.size});
    call->insertOperands(call.getNumOperands(), rest);
  }

  func::FuncOp function;
  const llvm::DenseMap<StringRef, func::FuncOp> &sizeFunctions;
  ImplicitLocOpBuilder b;
  SmallVector<Piece> pieces;
};

struct PlanMemoryPass : mlir::transformer::impl::PlanMemoryBase<PlanMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<StringRef, func::FuncOp> sizeFunctions;
    for (func::FuncOp function : calleesFirst(module)) {
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

private:
  static SmallVector<func::FuncOp> calleesFirst(ModuleOp module) {
    SmallVector<func::FuncOp> order;
    llvm::DenseSet<Operation *> seen;
    auto visit = [&](auto &self, func::FuncOp function) -> void {
      if (function.isExternal() || !seen.insert(function).second)
        return;
      function.walk([&](func::CallOp call) {
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
          self(self, callee);
      });
      order.push_back(function);
    };
    for (auto function : module.getOps<func::FuncOp>())
      visit(visit, function);
    return order;
  }
};

} // namespace
