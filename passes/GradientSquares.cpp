//===- GradientSquares.cpp - norms of gradients where these are made ------===//
#include "passes/GradientSquares.h"
#include "dialect/GradientOps.h"
#include "dialect/OptimizerOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The product over tokens that a call's function returns as `value`; null where it is another's.
LinearWeightGradientOp productOf(Value value, SymbolTable &symbols) {
  auto call = value.getDefiningOp<func::CallOp>();
  auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
  if (!callee || callee.isExternal() || callee.isPublic())
    return {};
  Value returned =
      callee.front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return returned.getDefiningOp<LinearWeightGradientOp>();
}

/// Sums become results behind the others, in the order of `indices`.
void returnSquares(func::FuncOp callee, ArrayRef<unsigned> indices) {
  Operation *end = callee.front().getTerminator();
  OpBuilder b(end);
  auto scalar = RankedTensorType::get({}, b.getF32Type());
  for (unsigned index : indices) {
    Value gradient = end->getOperand(index);
    b.setInsertionPointAfterValue(gradient);
    Value sum = SumSquaresOp::create(b, gradient.getLoc(), scalar, gradient);
    (void)callee.insertResult(callee.getNumResults(), scalar, {});
    end->insertOperands(end->getNumOperands(), sum);
  }
}

} // namespace

SmallVector<Value> transformer::sumSquaresInCallees(ModuleOp module,
                                                    MutableArrayRef<Value> gradients) {
  SymbolTable symbols(module);
  llvm::MapVector<func::FuncOp, llvm::SetVector<unsigned>> found;
  for (Value gradient : gradients)
    if (LinearWeightGradientOp product = productOf(gradient, symbols))
      found[product->getParentOfType<func::FuncOp>()].insert(
          cast<OpResult>(gradient).getResultNumber());
  for (auto &[callee, indices] : found)
    returnSquares(callee, indices.getArrayRef());

  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    if (found.contains(symbols.lookup<func::FuncOp>(call.getCallee())))
      calls.push_back(call);
  });
  SmallVector<Value> squares(gradients.size());
  for (func::CallOp call : calls) {
    OpBuilder b(call);
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto made = func::CallOp::create(b, call.getLoc(), callee, call.getOperands());
    made->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    unsigned before = call.getNumResults();
    const llvm::SetVector<unsigned> &indices = found[callee];
    for (auto [gradient, sum] : llvm::zip_equal(gradients, squares)) {
      if (gradient.getDefiningOp() != call)
        continue;
      unsigned index = cast<OpResult>(gradient).getResultNumber();
      gradient = made.getResult(index);
      if (auto *it = llvm::find(indices, index); it != indices.end())
        sum = made.getResult(before + (it - indices.begin()));
    }
    call.replaceAllUsesWith(made.getResults().take_front(before));
    call.erase();
  }
  return squares;
}
