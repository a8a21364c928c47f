//===- AddAccumulation.cpp - gradients of a step as a sum over parts ------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "passes/StepFunctions.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ADDACCUMULATIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// How many labels the mean of a loss is over; null: the op is no loss.
Value countOf(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto scalar = RankedTensorType::get({}, b.getF32Type());
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](CrossEntropyOp loss) {
        return CountLabelsOp::create(b, scalar, loss.getLabels(), loss.getIgnoreIndexAttr(),
                                     loss.getPaddingIndexAttr());
      })
      .Case([&](ElementLossOp loss) {
        return CountLabelsOp::create(b, scalar, loss.getLabels(), IntegerAttr(), IntegerAttr());
      })
      .Case([&](SpanLossOp loss) {
        return CountSpansOp::create(b, scalar, loss.getPositions(), loss.getSequences());
      })
      .Default(Value());
}

/// What a loss is compared with, which its backward is, too.
Value labelsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<CrossEntropyOp, CrossEntropyGradientOp, ElementLossOp, ElementLossGradientOp>(
          [](auto loss) { return loss.getLabels(); })
      .Case<SpanLossOp, SpanLossGradientOp>([](auto loss) { return loss.getPositions(); });
}

std::string countName(unsigned term) { return "count" + std::to_string(term); }

class Accumulation {
public:
  Accumulation(func::FuncOp loss, func::FuncOp gradients)
      : loss(loss), gradients(gradients), symbols(loss->getParentOfType<ModuleOp>()) {}

  LogicalResult run() {
    addCounts();
    func::FuncOp part = copy(gradients, kAccumulateGradients);
    if (failed(scaleToShare(part)))
      return failure();
    return addSums(part);
  }

private:
  func::FuncOp copy(func::FuncOp function, StringRef name) {
    func::FuncOp made = function.clone();
    made.setName(name);
    made.setPublic();
    made->setAttr(attr::entry, UnitAttr::get(made.getContext()));
    symbols.insert(made, std::next(Block::iterator(gradients)));
    return made;
  }

  /// Of the loss nothing but what its means are over.
  void addCounts() {
    func::FuncOp counts = copy(loss, kCountLabels);
    Block &block = counts.front();
    Operation *end = block.getTerminator();
    SmallVector<Value> found;
    for (Operation &op : block)
      if (Value count = countOf(&op))
        found.push_back(count);
    llvm::BitVector all(counts.getNumResults(), true);
    (void)counts.eraseResults(all);
    end->setOperands(found);
    OpBuilder b(end);
    for (auto [i, count] : llvm::enumerate(found))
      (void)counts.insertResult(i, count.getType(), named(b, attr::name, countName(i)));
    auto ops = llvm::to_vector(llvm::make_pointer_range(block.without_terminator()));
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && (isPure(op) || isa<func::CallOp>(op)))
        op->erase(); // a call is of a layer, which does nothing else
  }

  /// The mean of a part counts by its labels' share of all, which the counts say.
  static LogicalResult scaleToShare(func::FuncOp part) {
    DenseMap<Value, Value> shares; // by labels
    for (Operation &op : llvm::make_early_inc_range(part.front())) {
      if (Value count = countOf(&op)) {
        ImplicitLocOpBuilder b(op.getLoc(), &op);
        unsigned index = part.getNumArguments();
        if (failed(part.insertArgument(index, count.getType(),
                                       named(b, attr::name, countName(shares.size())), b.getLoc())))
          return failure();
        Value share = arith::DivFOp::create(b, count, part.getArgument(index));
        shares[labelsOf(&op)] = share;
        b.setInsertionPointAfter(&op);
        Value scaled = arith::MulFOp::create(b, op.getResult(0), share);
        op.getResult(0).replaceAllUsesExcept(scaled, scaled.getDefiningOp());
      } else if (OpOperand *dloss = dlossOf(&op)) {
        ImplicitLocOpBuilder b(op.getLoc(), &op);
        dloss->set(arith::MulFOp::create(b, dloss->get(), shares.at(labelsOf(&op))));
      }
    }
    return success();
  }

  /// Gradients are added to state, and there is a function that has them from there.
  LogicalResult addSums(func::FuncOp part) {
    OpBuilder b(part.getContext());
    Operation *end = part.front().getTerminator();
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> states;
    for (unsigned i = 1; i < part.getNumResults(); ++i) {
      Value gradient = end->getOperand(i);
      auto name = part.getResultAttrOfType<StringAttr>(i, attr::name);
      types.push_back(gradient.getType());
      states.push_back(named(b, attr::state, name.getValue()));
      unsigned index = part.getNumArguments();
      if (failed(part.insertArgument(index, types.back(), states.back(), part.getLoc())))
        return failure();
      end->setOperand(i, add(part.getArgument(index), gradient));
      part.setResultAttrs(i, states.back());
    }
    functionOfStates(symbols, kApplyGradients, types, states, part);
    return success();
  }

  /// As soon as there is a gradient, which then needs no memory.
  Value add(Value sum, Value gradient) {
    Type type = gradient.getType();
    func::FuncOp callee = functionForShape(
        symbols, "accumulate", type, {type, type}, type, [&](func::FuncOp made, auto &b) {
          Value both = arith::AddFOp::create(b, made.getArgument(0), made.getArgument(1));
          func::ReturnOp::create(b, both);
          made.setArgAttr(0, attr::state, b.getStringAttr("sum"));
          made.setResultAttr(0, attr::state, b.getStringAttr("sum"));
        });
    OpBuilder b(gradient.getContext());
    b.setInsertionPointAfterValue(gradient);
    return func::CallOp::create(b, gradient.getLoc(), callee, ValueRange{sum, gradient})
        .getResult(0);
  }

  func::FuncOp loss, gradients;
  SymbolTable symbols;
};

struct AddAccumulation : transformer::impl::AddAccumulationPassBase<AddAccumulation> {
  using Base::Base;
  void runOnOperation() override {
    auto of = getOperation().lookupSymbol<func::FuncOp>(loss);
    auto gradients = getOperation().lookupSymbol<func::FuncOp>(loss + "_and_gradients");
    if (!of || of.isExternal() || !gradients || gradients.isExternal()) {
      getOperation().emitError() << "has no functions @" << loss << " and @" << loss
                                 << "_and_gradients; run transformer-differentiate first";
      return signalPassFailure();
    }
    if (failed(Accumulation(of, gradients).run()))
      signalPassFailure();
  }
};

} // namespace
