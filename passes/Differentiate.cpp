//===- Differentiate.cpp - gradients of a loss ----------------------------===//
//
// Reverse mode, function by function: a layer that is called many times has one backward function.
// It computes the layer's values again from its arguments, or takes those that it needs from a form
// of the layer that returns them, too.
//
//===----------------------------------------------------------------------===//
#include "dialect/DifferentiateInterface.h"
#include "dialect/ParameterOps.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/StepFunctions.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What the backward of a layer computes again.
enum class Recompute { None, Attention, Layer };

const std::pair<StringLiteral, Recompute> recomputes[] = {
    {"none", Recompute::None}, {"attention", Recompute::Attention}, {"layer", Recompute::Layer}};

/// Gradients of the values of a function, each a sum over its readers.
class Gradients {
public:
  Value of(Value value) const { return sums.lookup(value); }

  void add(ImplicitLocOpBuilder &b, Value value, Value gradient) {
    if (!gradient)
      return;
    Value &sum = sums[value];
    sum = sum ? Value(arith::AddFOp::create(b, sum, gradient)) : gradient;
  }

private:
  DenseMap<Value, Value> sums;
};

/// The backward of a layer: from its arguments and the gradients of some of its results to those of
/// its arguments.
struct Backward {
  func::FuncOp function;
  SmallVector<int64_t> results; // for each argument: which result its gradient is, or -1
  func::FuncOp saving;          // the layer with what `function` takes last; null: it takes nothing
};

class Differentiator {
public:
  Differentiator(ModuleOp module, Recompute recompute) : symbols(module), recompute(recompute) {}

  /// Adds `@NAME_and_gradients`, which gives the loss of `@NAME` and the gradient of each parameter
  /// that it reads.
  LogicalResult run(func::FuncOp loss) {
    func::FuncOp both = loss.clone();
    both.setName((loss.getName() + "_and_gradients").str());
    symbols.insert(both, std::next(Block::iterator(loss)));
    Operation *end = both.front().getTerminator();
    llvm::MapVector<StringRef, Value> parameters; // one that is read twice once
    for (auto read : both.getOps<GetParameterOp>())
      if (auto [it, isNew] = parameters.insert({read.getName(), read}); !isNew)
        read.getResult().replaceAllUsesWith(it->second);
    ImplicitLocOpBuilder b(end->getLoc(), end);
    auto scalar = cast<RankedTensorType>(end->getOperand(0).getType());
    Gradients gradients;
    gradients.add(b, end->getOperand(0),
                  arith::ConstantOp::create(
                      b, DenseElementsAttr::get(scalar, Attribute(b.getF32FloatAttr(1)))));
    DenseSet<Value> active; // what has a gradient if the loss depends on it
    for (auto [name, value] : parameters)
      if (!isFrozen(name))
        active.insert(value);
    if (failed(buildBackward(b, both.front(), active, gradients)))
      return failure();
    for (auto [name, value] : parameters) {
      Value gradient = active.contains(value) ? gradients.of(value) : Value();
      if (!gradient)
        continue;
      if (failed(both.insertResult(both.getNumResults(), gradient.getType(),
                                   named(b, attr::name, name + kGradient))))
        return failure();
      end->insertOperands(end->getNumOperands(), gradient);
    }
    if (end->getNumOperands() == 1)
      return loss.emitError() << "depends on no parameter that is trained";
    return success();
  }

private:
  bool isFrozen(StringRef parameter) const {
    auto declaration = symbols.lookup<ParameterOp>(parameter);
    return declaration && declaration.getFrozen();
  }

  /// Goes through the ops that `block` has before `b`'s place, from the last to the first, for the
  /// gradients of what depends on `active` values, to which those that do are added.
  LogicalResult buildBackward(ImplicitLocOpBuilder &b, Block &block, DenseSet<Value> &active,
                              Gradients &gradients) {
    auto forward = llvm::to_vector(llvm::make_pointer_range(block.without_terminator()));
    auto isActive = [&](Value value) { return active.contains(value); };
    for (Operation *op : forward)
      if (llvm::any_of(op->getOperands(), isActive))
        for (Value result : op->getResults()) // not sizes
          if (isa<FloatType>(getElementTypeOrSelf(result)))
            active.insert(result);
    for (Operation *op : llvm::reverse(forward)) {
      auto ofResults =
          llvm::map_to_vector(op->getResults(), [&](Value value) { return gradients.of(value); });
      if (llvm::none_of(ofResults, [](Value value) { return !!value; }) ||
          llvm::none_of(op->getOperands(), isActive))
        continue; // of what it depends on nothing has a gradient
      b.setLoc(op->getLoc());
      SmallVector<Value> operands(op->getOperands()), ofOperands(operands.size());
      if (failed(buildGradients(b, op, active, ofResults, ofOperands)))
        return failure();
      for (auto [i, operand, gradient] : llvm::enumerate(operands, ofOperands)) {
        if (!isActive(operand))
          continue;
        if (!gradient && !isa<func::CallOp>(op)) // a layer need not read an argument
          return op->emitOpError() << "has no backward of its operand " << i
                                   << ", which depends on a parameter that is trained";
        gradients.add(b, operand, gradient);
      }
    }
    for (Operation *op : forward)
      if (replaced.erase(op))
        op->erase();
    return success();
  }

  LogicalResult buildGradients(ImplicitLocOpBuilder &b, Operation *op,
                               const DenseSet<Value> &active, ValueRange ofResults,
                               MutableArrayRef<Value> ofOperands) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return ofCall(b, call, active, ofResults, ofOperands);
    if (auto differentiable = dyn_cast<DifferentiateOpInterface>(op))
      return differentiable.buildGradients(b, ofResults, ofOperands);
    return op->emitOpError() << "has no backward, and the loss depends on it";
  }

  LogicalResult ofCall(ImplicitLocOpBuilder &b, func::CallOp call, const DenseSet<Value> &active,
                       ValueRange ofResults, MutableArrayRef<Value> ofOperands) {
    FailureOr<Backward *> backward = backwardOf(call, active, ofResults);
    if (failed(backward))
      return failure();
    SmallVector<Value> operands(call.getOperands());
    llvm::copy_if(ofResults, std::back_inserter(operands), [](Value value) { return !!value; });
    if (func::FuncOp saving = (*backward)->saving) {
      OpBuilder forward(call);
      auto both = func::CallOp::create(forward, call.getLoc(), saving, call.getOperands());
      both->setDiscardableAttrs(call->getDiscardableAttrDictionary());
      call.replaceAllUsesWith(both.getResults().take_front(call.getNumResults()));
      llvm::append_range(operands, both.getResults().drop_front(call.getNumResults()));
      replaced.insert(call);
    }
    auto result = func::CallOp::create(b, (*backward)->function, operands);
    result->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    for (auto [i, gradient] : llvm::enumerate((*backward)->results))
      if (gradient >= 0)
        ofOperands[i] = result.getResult(gradient);
    return success();
  }

  /// Made at a layer's first call, for those of its results that the loss depends on, and those of
  /// its arguments that have gradients.
  FailureOr<Backward *> backwardOf(func::CallOp call, const DenseSet<Value> &active,
                                   ValueRange ofResults) {
    std::string key = call.getCallee().str();
    for (Value gradient : ofResults)
      key += gradient ? '1' : '0';
    for (Value operand : call.getOperands())
      key += active.contains(operand) ? '1' : '0';
    auto [it, isNew] = backwards.try_emplace(key);
    if (!isNew && !it->second.function)
      return call.emitOpError() << "is of a function that calls itself";
    if (!isNew)
      return &it->second;
    auto layer = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!layer || layer.isExternal())
      return call.emitOpError() << "calls a function without a body";
    for (auto read : layer.getOps<GetParameterOp>())
      if (!isFrozen(read.getName()))
        return read.emitOpError() << "stands in a layer, where a parameter has no gradient; "
                                     "expected it as an argument of @"
                                  << layer.getName();
    func::FuncOp function = layer.clone();
    function.setName((layer.getName() + ".backward").str());
    function.setPrivate();
    function->removeAttr(attr::entry);
    function.removeResAttrsAttr();
    symbols.insert(function, std::next(Block::iterator(layer)));
    Operation *end = function.front().getTerminator();
    ImplicitLocOpBuilder b(end->getLoc(), end);
    unsigned numArguments = function.getNumArguments();
    Operation *boundary = arith::ConstantIndexOp::create(b, 0); // behind the layer's own ops
    Gradients gradients; // sums, too, of a value that is returned twice
    for (auto [value, ofResult] : llvm::zip_equal(end->getOperands(), ofResults)) {
      if (!ofResult)
        continue;
      unsigned index = function.getNumArguments();
      if (failed(function.insertArgument(index, value.getType(), {}, value.getLoc())))
        return failure();
      gradients.add(b, value, function.getArgument(index));
    }
    DenseSet<Value> activeInside;
    for (auto [operand, argument] :
         llvm::zip(call.getOperands(), function.getArguments().take_front(numArguments)))
      if (active.contains(operand))
        activeInside.insert(argument);
    if (failed(buildBackward(b, function.front(), activeInside, gradients)))
      return failure();
    Backward backward{function, {}, {}};
    SmallVector<Value> results, returned(end->getOperands());
    for (Value argument : function.getArguments().take_front(numArguments)) {
      Value gradient = gradients.of(argument);
      backward.results.push_back(gradient ? static_cast<int64_t>(results.size()) : -1);
      if (gradient)
        results.push_back(gradient);
    }
    end->setOperands(results);
    function.setFunctionType(
        b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
    if (recompute != Recompute::Layer && failed(save(backward, layer, returned, boundary)))
      return failure();
    boundary->erase();
    return &(backwards[key] = backward); // a layer inside may have moved it
  }

  /// Moves the layer's own ops, up to `boundary`, out of its backward into a form of the layer that
  /// returns what is left of the backward reads of them, beside `returned`.
  LogicalResult save(Backward &backward, func::FuncOp layer, ValueRange returned,
                     Operation *boundary) {
    func::FuncOp function = backward.function;
    auto isBehind = [&](Operation *op) { return boundary->isBeforeInBlock(op); };
    copyComputedAgain(function.front(), boundary);
    SmallVector<Operation *> own;
    SmallVector<Value> results(returned);
    for (Operation &op : llvm::make_range(function.front().begin(), Block::iterator(boundary))) {
      own.push_back(&op);
      if (!op.hasTrait<OpTrait::ConstantLike>())
        for (Value value : op.getResults())
          if (llvm::any_of(value.getUsers(), isBehind))
            results.push_back(value);
    }
    OpBuilder b(layer);
    auto type = b.getFunctionType(layer.getArgumentTypes(), ValueRange(results).getTypes());
    auto saving =
        func::FuncOp::create(b, layer.getLoc(), (layer.getName() + ".saving").str(), type);
    saving.setPrivate();
    symbols.insert(saving, std::next(Block::iterator(layer)));
    IRMapping map;
    Block *entry = saving.addEntryBlock();
    map.map(function.getArguments().take_front(entry->getNumArguments()), entry->getArguments());
    b.setInsertionPointToStart(entry);
    for (Operation *op : own)
      b.clone(*op, map);
    func::ReturnOp::create(b, layer.getLoc(), llvm::map_to_vector(results, [&](Value value) {
                             return map.lookup(value);
                           }));
    for (Value value : ArrayRef(results).drop_front(returned.size())) {
      unsigned index = function.getNumArguments();
      if (failed(function.insertArgument(index, value.getType(), {}, value.getLoc())))
        return failure();
      value.replaceUsesWithIf(function.getArgument(index),
                              [&](OpOperand &use) { return isBehind(use.getOwner()); });
    }
    for (Operation *op : llvm::reverse(own))
      if (op->use_empty()) // or a constant
        op->erase();
    backward.saving = saving;
    return success();
  }

  /// What the backward computes by itself from what it is given: columns and other shapes, the keys
  /// of dropout and, if so wanted, attention.
  bool isComputedAgain(Operation *op) const {
    return isa<SplitOp, tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
               arith::AddIOp>(op) ||
           (recompute == Recompute::Attention && isa<AttentionOp>(op));
  }

  void copyComputedAgain(Block &block, Operation *boundary) {
    OpBuilder b(boundary->getContext());
    b.setInsertionPointAfter(boundary);
    SmallVector<Operation *> own;
    for (Operation &op : llvm::make_range(block.begin(), Block::iterator(boundary)))
      if (isComputedAgain(&op))
        own.push_back(&op);
    for (Operation *op : llvm::reverse(own)) { // one in front of what reads it
      Operation *copy = b.clone(*op);
      op->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) {
        return boundary->isBeforeInBlock(use.getOwner());
      });
      if (copy->use_empty())
        copy->erase();
      else
        b.setInsertionPoint(copy);
    }
  }

  SymbolTable symbols;
  Recompute recompute;
  DenseSet<Operation *> replaced; // calls of layers, by calls of what saves
  llvm::StringMap<Backward> backwards;
};

struct Differentiate : transformer::impl::DifferentiatePassBase<Differentiate> {
  using Base::Base;
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>(loss);
    if (!function || function.isExternal()) {
      getOperation().emitError() << "has no function @" << loss << " with a body, the loss";
      return signalPassFailure();
    }
    auto type = dyn_cast<RankedTensorType>(
        function.getNumResults() == 1 ? function.getResultTypes()[0] : Type());
    if (!type || type.getRank() != 0 || !type.getElementType().isF32()) {
      function.emitError() << "@" << loss
                           << ": expected one result, the loss, of tensor<f32>, found "
                           << function.getFunctionType();
      return signalPassFailure();
    }
    auto chosen = llvm::find_if(recomputes, [&](auto &kind) { return kind.first == recompute; });
    if (chosen == std::end(recomputes)) {
      getOperation().emitError() << "recompute \"" << recompute << "\": expected "
                                 << listOf(recomputeNames());
      return signalPassFailure();
    }
    if (failed(Differentiator(getOperation(), chosen->second).run(function)))
      signalPassFailure();
  }
};

} // namespace

SmallVector<StringRef> transformer::recomputeNames() {
  return llvm::map_to_vector(recomputes, [](auto &kind) -> StringRef { return kind.first; });
}
