//===- NarrowCalls.cpp - functions take and give what is rounded ----------===//
#include "codegen/gpu/NarrowCaches.h"
#include "codegen/gpu/NarrowProducts.h"
#include "codegen/gpu/Passes.h"
#include "codegen/memory/CallGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_NARROWCALLS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool hasWholePieces(Value rows) {
  auto type = dyn_cast<RankedTensorType>(rows.getType());
  return type && type.getElementType().isF32() && type.getRank() == 2 && !type.isDynamicDim(1) &&
         type.getDimSize(1) % halvesOfPiece == 0;
}

/// Some columns of all rows.
bool areColumns(tensor::ExtractSliceOp slice) {
  auto type = slice.getType();
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  return hasWholePieces(slice.getSource()) && hasWholePieces(slice.getResult()) &&
         type.getRank() == slice.getSourceType().getRank() && slice.hasUnitStride() &&
         offsets[0] == 0 && !ShapedType::isDynamic(offsets[1]) && offsets[1] % halvesOfPiece == 0;
}

/// What all who read numbers of `rows` round them to; null: they do not, or nobody reads any.
FloatType narrowReading(Value rows) {
  FloatType found;
  for (Operation *user : rows.getUsers()) {
    FloatType type;
    if (isa<tensor::DimOp>(user))
      continue;
    if (auto rounding = dyn_cast<linalg::GenericOp>(user); rounding && isRounding(rounding))
      type = cast<FloatType>(getElementTypeOrSelf(rounding.getResult(0)));
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user); slice && areColumns(slice))
      type = narrowReading(slice);
    if (!type || (found && found != type))
      return {};
    found = type;
  }
  return found;
}

/// `rows` are `type` now: who rounds them has them.
void setNarrow(Value rows, FloatType type) {
  rows.setType(cast<RankedTensorType>(rows.getType()).clone(type));
  for (Operation *user : llvm::make_early_inc_range(rows.getUsers())) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
      setNarrow(slice, type);
    } else if (auto rounding = dyn_cast<linalg::GenericOp>(user)) {
      rounding.replaceAllUsesWith(ValueRange{rows});
      rounding.erase();
    }
  }
}

/// A function with its calls.
class Called {
public:
  Called(func::FuncOp function, const SymbolUserMap &users)
      : function(function), calls(callsOf(function, users)) {}

  /// Whether anything has changed.
  bool narrow() {
    if (calls.empty())
      return false;
    bool changed = false;
    for (BlockArgument argument : function.getArguments())
      changed |= narrowArgument(argument);
    for (OpOperand &result : function.getBody().back().getTerminator()->getOpOperands())
      changed |= narrowResult(result);
    if (changed)
      updateType(function);
    return changed;
  }

private:
  bool narrowArgument(BlockArgument argument) {
    FloatType type = hasWholePieces(argument) ? narrowReading(argument) : FloatType();
    if (!type)
      return false;
    for (func::CallOp call : calls) {
      OpOperand &given = call->getOpOperand(argument.getArgNumber());
      given.set(roundBefore(call, given.get(), type));
    }
    setNarrow(argument, type);
    return true;
  }

  bool narrowResult(OpOperand &result) {
    unsigned number = result.getOperandNumber();
    if (!hasWholePieces(result.get()))
      return false;
    FloatType type = narrowReading(calls.front().getResult(number));
    auto isSame = [&](func::CallOp call) { return narrowReading(call.getResult(number)) == type; };
    if (!type || !llvm::all_of(calls, isSame))
      return false;
    result.set(roundBefore(result.getOwner(), result.get(), type));
    for (func::CallOp call : calls)
      setNarrow(call.getResult(number), type);
    return true;
  }

  func::FuncOp function;
  SmallVector<func::CallOp> calls;
};

struct NarrowCallsPass : mlir::transformer::impl::NarrowCallsBase<NarrowCallsPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, getOperation());
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto function : getOperation().getOps<func::FuncOp>())
        changed |= Called(function, users).narrow();
    }
  }
};

} // namespace
