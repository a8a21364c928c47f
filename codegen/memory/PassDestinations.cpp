//===- PassDestinations.cpp - results are written where the caller wants --===//
#include "codegen/Passes.h"
#include "codegen/memory/CallGraph.h"
#include "codegen/memory/DestinationPassing.h"
#include "dialect/State.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PASSDESTINATIONS
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Computes, before a call, sizes of what the called function makes. The function's results are
/// still its own, its calls have destinations.
class CalleeSizes {
public:
  CalleeSizes(func::FuncOp callee, func::CallOp call) : b(call.getLoc(), OpBuilder(call)) {
    mapping.map(callee.getArguments(), call.getOperands());
  }

  /// Size `dim` of `value`; null where it depends on what only the call computes.
  Value dim(Value value, int64_t dim) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(dim))
      return arith::ConstantIndexOp::create(b, type.getDimSize(dim));
    if (Value known = mapping.lookupOrNull(value))
      return tensor::DimOp::create(b, known, dim);
    Operation *op = value.getDefiningOp();
    if (!op) // an argument of a loop
      return {};
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto call = dyn_cast<func::CallOp>(op))
      return this->dim(call.getOperand(destinationOf(call, result)), dim);
    if (auto loop = dyn_cast<scf::ForOp>(op)) // no turn changes a size
      return this->dim(loop.getInitArgs()[result], dim);
    if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
      return this->dim(dps.getTiedOpOperand(cast<OpResult>(value))->get(), dim);
    auto shaped = dyn_cast<ReifyRankedShapedTypeOpInterface>(op);
    ReifiedRankedShapedTypeDims shapes;
    OpBuilder inside(op);
    if (!shaped || failed(shaped.reifyResultShapes(inside, shapes)))
      return {};
    OpFoldResult size = shapes[result][dim];
    return isa<Attribute>(size)
               ? arith::ConstantIndexOp::create(b, *getConstantIntValue(size)).getResult()
               : compute(cast<Value>(size));
  }

private:
  /// `value` of the function as the caller can compute it; null where it cannot.
  Value compute(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !isMemoryEffectFree(op))
      return {};
    if (auto size = dyn_cast<tensor::DimOp>(op))
      if (std::optional<int64_t> index = size.getConstantIndex()) {
        Value there = dim(size.getSource(), *index);
        if (there)
          mapping.map(value, there);
        return there;
      }
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value operand : used)
      if (!compute(operand))
        return {};
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  ImplicitLocOpBuilder b;
  IRMapping mapping;
};

/// Gives a call its destinations. Each has memory of its own, also where nobody reads it: the
/// function writes all of them. (A tensor.empty of the same size might be the same value.)
LogicalResult passDestinations(func::CallOp call, func::FuncOp callee) {
  auto ret = cast<func::ReturnOp>(callee.front().getTerminator());
  CalleeSizes sizes(callee, call);
  OpBuilder b(call);
  SmallVector<Value> operands(call.getOperands());
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    if (updatedArgument(callee, i))
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<Value> dynamic;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      Value size = sizes.dim(value, d);
      if (!size)
        return call.emitOpError() << "result " << i << " of @" << callee.getName() << " has a size "
                                  << d << " that only the call computes";
      dynamic.push_back(size);
    }
    operands.push_back(
        bufferization::AllocTensorOp::create(b, call.getLoc(), type, dynamic).getResult());
  }
  auto passed =
      func::CallOp::create(b, call.getLoc(), call.getCallee(), call.getResultTypes(), operands);
  passed->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  call.replaceAllUsesWith(passed.getResults());
  call.erase();
  return success();
}

struct PassDestinationsPass : mlir::transformer::impl::PassDestinationsBase<PassDestinationsPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<StringRef, SmallVector<func::CallOp>> calls;
    module.walk([&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
    llvm::DenseSet<StringRef> done;
    for (func::FuncOp function : calleesFirst(module)) {
      if (failed(check(function, done)))
        return signalPassFailure();
      done.insert(function.getName());
      for (func::CallOp call : calls.lookup(function.getName()))
        if (failed(passDestinations(call, function)))
          return signalPassFailure();
      addDestinations(function);
    }
  }

private:
  static LogicalResult check(func::FuncOp function, const llvm::DenseSet<StringRef> &done) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError("has control flow; expected one block");
    WalkResult calls = function.walk([&](func::CallOp call) {
      if (done.contains(call.getCallee()))
        return WalkResult::advance();
      call.emitOpError("calls a function that is recursive or has no body");
      return WalkResult::interrupt();
    });
    if (calls.wasInterrupted())
      return failure();
    for (Type type : function.getResultTypes())
      if (!isa<RankedTensorType>(type))
        return function.emitOpError("expected results of tensors, found ") << type;
    return checkStateInCalls(function);
  }

  /// A function that makes a state's new value from the old one without saying that it is state
  /// would have to copy it.
  static LogicalResult checkStateInCalls(func::FuncOp function) {
    Operation *ret = function.front().getTerminator();
    for (OpOperand &result : ret->getOpOperands()) {
      auto call = result.get().getDefiningOp<func::CallOp>();
      std::optional<unsigned> state = updatedArgument(function, result.getOperandNumber());
      if (!call || !state || !llvm::is_contained(call.getOperands(), function.getArgument(*state)))
        continue;
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      std::optional<unsigned> updated =
          updatedArgument(callee, cast<OpResult>(result.get()).getResultNumber());
      if (!updated || call.getOperand(*updated) != function.getArgument(*state))
        return call.emitOpError() << "updates state \"" << stateOfArgument(function, *state)
                                  << "\", but @" << callee.getName()
                                  << " does not say so by transformer.state";
    }
    return success();
  }
};

} // namespace
