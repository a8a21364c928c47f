//===- GradientSquares.cpp - norms of gradients where these are made ------===//
#include "passes/GradientSquares.h"
#include "dialect/GradientOps.h"
#include "dialect/OptimizerOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A loop's results begin with these and are then what its last turn leaves.
std::pair<Value, Value> begunAndLeft(OpResult ofLoop) {
  auto loop = cast<scf::ForOp>(ofLoop.getOwner());
  unsigned number = ofLoop.getResultNumber();
  return {loop.getInitArgs()[number], loop.getYieldedValues()[number]};
}

/// The private function that makes `value`, and what it returns; null where none does.
std::pair<func::FuncOp, Value> calleeOf(Value value, SymbolTable &symbols) {
  auto call = value.getDefiningOp<func::CallOp>();
  auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
  if (!callee || callee.isExternal() || callee.isPublic())
    return {};
  return {callee,
          callee.front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber())};
}

/// Whether a product over tokens makes `value`, all of it the last time that it is written.
bool isProduct(Value value, SymbolTable &symbols) {
  if (value.getDefiningOp<LinearWeightGradientOp>())
    return true;
  if (value.getDefiningOp<scf::ForOp>()) {
    auto [begun, left] = begunAndLeft(cast<OpResult>(value));
    return isProduct(begun, symbols) && isProduct(left, symbols);
  }
  Value returned = calleeOf(value, symbols).second;
  return returned && isProduct(returned, symbols);
}

Value sumSquaresOfLoop(ModuleOp module, OpResult result);

/// Of each of `values`, which `isProduct`, the sum of squares, in the function that has it.
SmallVector<Value> sumSquares(ModuleOp module, SmallVector<Value> values) {
  SmallVector<Value> sums = sumSquaresInCallees(module, values, /*tables=*/true);
  for (auto [value, sum] : llvm::zip_equal(values, sums)) {
    if (sum)
      continue;
    if (value.getDefiningOp<scf::ForOp>()) {
      sum = sumSquaresOfLoop(module, cast<OpResult>(value));
      continue;
    }
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    sum = SumSquaresOp::create(b, value.getLoc(), value);
  }
  return sums;
}

/// One more result of a loop, the sum of squares of this one.
Value sumSquaresOfLoop(ModuleOp module, OpResult result) {
  auto loop = cast<scf::ForOp>(result.getOwner());
  auto [begun, left] = begunAndLeft(result);
  SmallVector<Value> sums = sumSquares(module, {begun, left});
  IRRewriter rewriter(module.getContext());
  // In the place of the sum before, so that the loop needs no other.
  auto yieldSum = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> before) {
    Value number = tensor::ExtractOp::create(b, loc, sums[1], ValueRange());
    Value sum = tensor::InsertOp::create(b, loc, number, before.front(), ValueRange());
    return SmallVector<Value>{sum};
  };
  return (*loop.replaceWithAdditionalYields(rewriter, sums.front(),
                                            /*replaceInitOperandUsesInLoop=*/false, yieldSum))
      ->getResults()
      .back();
}

/// Sums become results behind the others, in the order of `indices`.
void returnSquares(func::FuncOp callee, ArrayRef<unsigned> indices) {
  auto scalar = RankedTensorType::get({}, Float32Type::get(callee.getContext()));
  for (unsigned index : indices) {
    Operation *end = callee.front().getTerminator();
    Value sum = sumSquares(callee->getParentOfType<ModuleOp>(), {end->getOperand(index)}).front();
    (void)callee.insertResult(callee.getNumResults(), scalar, {});
    end->insertOperands(end->getNumOperands(), sum);
  }
}

/// Embeddings that add to a gradient, the last one first; `gradient` becomes what they add to.
SmallVector<EmbeddingGradientOp> embeddingsOnto(Value &gradient) {
  SmallVector<EmbeddingGradientOp> embeddings;
  for (auto op = gradient.getDefiningOp<EmbeddingGradientOp>(); op && op.getOnto();
       op = gradient.getDefiningOp<EmbeddingGradientOp>()) {
    embeddings.push_back(op);
    gradient = op.getOnto();
  }
  return embeddings;
}

/// Adds to `squares` what each of them, from the last on, adds to a sum of squares, and returns the
/// gradient.
Value addSquares(ArrayRef<EmbeddingGradientOp> embeddings, Value &squares) {
  Value gradient;
  for (EmbeddingGradientOp op : llvm::reverse(embeddings)) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto both = EmbeddingGradientOp::create(b, op.getDtable().getType(), squares.getType(),
                                            op.getIds(), op.getDy(), op.getOnto(),
                                            op.getScaleAttr(), op.getPaddingIndexAttr());
    gradient = both.getDtable();
    squares = arith::AddFOp::create(b, squares, both.getSquares());
    op.getDtable().replaceAllUsesWith(gradient);
    op.erase();
  }
  // Of gradients that cancel out rounding may leave less than nothing.
  ImplicitLocOpBuilder b(gradient.getLoc(), gradient.getContext());
  b.setInsertionPointAfterValue(squares);
  auto type = cast<RankedTensorType>(squares.getType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  squares = arith::MaximumFOp::create(b, squares, zero);
  return gradient;
}

} // namespace

SmallVector<Value> transformer::sumSquaresInCallees(ModuleOp module,
                                                    MutableArrayRef<Value> gradients, bool tables) {
  SymbolTable symbols(module);
  SmallVector<SmallVector<EmbeddingGradientOp>> embeddings(gradients.size());
  if (tables)
    for (auto [gradient, ofGradient] : llvm::zip_equal(gradients, embeddings)) {
      Value product = gradient;
      ofGradient = embeddingsOnto(product);
      if (calleeOf(product, symbols).first && isProduct(product, symbols))
        gradient = product;
      else
        ofGradient.clear();
    }
  llvm::MapVector<func::FuncOp, llvm::SetVector<unsigned>> found;
  for (Value gradient : gradients) {
    auto [callee, returned] = calleeOf(gradient, symbols);
    if (callee && (tables ? isProduct(returned, symbols)
                          : !!returned.getDefiningOp<LinearWeightGradientOp>()))
      found[callee].insert(cast<OpResult>(gradient).getResultNumber());
  }
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
  for (auto [gradient, sum, ofGradient] : llvm::zip_equal(gradients, squares, embeddings))
    if (!ofGradient.empty())
      gradient = addSquares(ofGradient, sum);
  return squares;
}
