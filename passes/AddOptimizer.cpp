//===- AddOptimizer.cpp - loss and gradients to a training step -----------===//
#include "dialect/OptimizerOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ADDOPTIMIZERPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr StringLiteral kGradient = ".grad";                      // behind a parameter's name
constexpr StringLiteral kMoments[] = {".exp_avg", ".exp_avg_sq"}; // likewise

/// A parameter with a gradient, as it enters the step.
struct Trained {
  StringRef name;
  BlockArgument parameter, moments[2];
  Value gradient;
};

/// The scalars that a step takes behind its inputs.
struct Scalars {
  Value step, learningRate, beta1, beta2, epsilon, weightDecay, vectorWeightDecay, maxGradNorm;
};

class StepBuilder {
public:
  StepBuilder(func::FuncOp function, StringRef evaluation)
      : function(function), evaluation(evaluation), symbols(function->getParentOfType<ModuleOp>()),
        end(function.front().getTerminator()), b(function.getLoc(), end) {}

  LogicalResult run() {
    for (auto other : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
      if (other.getName() == evaluation)
        continue;
      other->removeAttr(attr::entry);
      other.setPrivate();
    }
    symbols.remove(function);
    function.setName("train_step");
    symbols.insert(function, {});
    function.setPublic();
    function->setAttr(attr::entry, b.getUnitAttr());
    addScalars();
    if (failed(addParameters()))
      return failure();
    Value squares;
    for (Trained &trained : all) {
      Value of = call(squaresOf(trained.gradient.getType()), trained.gradient).getResult(0);
      squares = squares ? arith::AddFOp::create(b, squares, of).getResult() : of;
    }
    auto clip = ClipGradNormOp::create(b, squares, scalars.maxGradNorm);
    Value loss = end->getOperand(0);
    auto names = function.getResultAttrDict(0);
    llvm::BitVector others(function.getNumResults(), true);
    if (failed(function.eraseResults(others)))
      return failure();
    end->eraseOperands(0, end->getNumOperands());
    addResult(loss, names);
    addResult(clip.getNorm(), named(attr::name, "grad_norm"));
    for (Trained &trained : all)
      update(trained, clip.getScale());
    if (auto other = symbols.lookup<func::FuncOp>(evaluation))
      readState(other);
    return success();
  }

private:
  DictionaryAttr named(StringRef key, const Twine &value) {
    return b.getDictionaryAttr(b.getNamedAttr(key, b.getStringAttr(value)));
  }

  static BlockArgument addArgument(func::FuncOp to, Type type, DictionaryAttr attributes) {
    unsigned index = to.getNumArguments();
    (void)to.insertArgument(index, type, attributes, to.getLoc());
    return to.getArgument(index);
  }
  BlockArgument addArgument(Type type, DictionaryAttr attributes) {
    return addArgument(function, type, attributes);
  }

  static void addResult(func::FuncOp to, Value value, DictionaryAttr attributes) {
    (void)to.insertResult(to.getNumResults(), value.getType(), attributes);
    Operation *end = to.front().getTerminator();
    end->insertOperands(end->getNumOperands(), value);
  }
  void addResult(Value value, DictionaryAttr attributes) { addResult(function, value, attributes); }

  void addScalars() {
    auto add = [&](StringRef name, Type type) -> Value {
      return addArgument(RankedTensorType::get({}, type), named(attr::name, name));
    };
    auto addNumber = [&](StringRef name) { return add(name, b.getF64Type()); };
    scalars = {add("step", b.getI64Type()),
               addNumber("learning_rate"),
               addNumber("beta1"),
               addNumber("beta2"),
               addNumber("epsilon"),
               addNumber("weight_decay"),
               addNumber("vector_weight_decay"),
               addNumber("max_grad_norm")};
  }

  /// What has a gradient is no longer read, but an argument.
  LogicalResult addParameters() {
    llvm::StringMap<SmallVector<GetParameterOp>> reads;
    for (auto read : function.getOps<GetParameterOp>())
      reads[read.getName()].push_back(read);
    for (unsigned i = 1; i < function.getNumResults(); ++i) {
      auto full = function.getResultAttrOfType<StringAttr>(i, attr::name);
      StringRef name = full ? full.getValue() : "";
      if (!name.consume_back(kGradient) || !reads.contains(name))
        return function.emitError() << "result " << i << ": expected a parameter's gradient, found "
                                    << (full ? full.getValue() : "no name");
      Trained trained{name, {}, {}, end->getOperand(i)};
      Type type = trained.gradient.getType();
      trained.parameter = addArgument(type, named(attr::state, name));
      for (auto [moment, suffix] : llvm::zip_equal(trained.moments, kMoments))
        moment = addArgument(type, named(attr::state, name + suffix));
      for (GetParameterOp read : reads[name]) {
        read.replaceAllUsesWith(static_cast<Value>(trained.parameter));
        read.erase();
      }
      all.push_back(trained);
    }
    return success();
  }

  /// What is trained enters another entry point, and leaves it as it was.
  void readState(func::FuncOp other) {
    llvm::StringMap<Value> states;
    for (auto read : llvm::make_early_inc_range(other.getOps<GetParameterOp>())) {
      if (llvm::none_of(all, [&](Trained &trained) { return trained.name == read.getName(); }))
        continue;
      Value &state = states[read.getName()];
      if (!state) {
        DictionaryAttr name = named(attr::state, read.getName());
        state = addArgument(other, read.getType(), name);
        addResult(other, state, name);
      }
      read.replaceAllUsesWith(state);
      read.erase();
    }
  }

  func::CallOp call(func::FuncOp callee, ValueRange operands) {
    return func::CallOp::create(b, callee, operands);
  }

  /// A private function for tensors of `type`, made by `build` the first time.
  func::FuncOp functionFor(StringRef prefix, Type type,
                           function_ref<func::FuncOp(StringRef)> build) {
    std::string name = prefix.str() + ".";
    llvm::raw_string_ostream stream(name);
    llvm::interleave(cast<RankedTensorType>(type).getShape(), stream, "x");
    if (auto made = symbols.lookup<func::FuncOp>(name))
      return made;
    func::FuncOp made = build(name);
    made.setPrivate();
    symbols.insert(made);
    return made;
  }

  func::FuncOp create(StringRef name, TypeRange arguments, TypeRange results) {
    auto made = func::FuncOp::create(b.getLoc(), name, b.getFunctionType(arguments, results));
    made.addEntryBlock();
    return made;
  }

  func::FuncOp squaresOf(Type type) {
    return functionFor("squares", type, [&](StringRef name) {
      auto scalar = RankedTensorType::get({}, b.getF32Type());
      func::FuncOp made = create(name, type, scalar);
      auto inside = ImplicitLocOpBuilder::atBlockEnd(b.getLoc(), &made.front());
      Value sum = SumSquaresOp::create(inside, made.getArgument(0));
      func::ReturnOp::create(inside, sum);
      return made;
    });
  }

  void update(Trained &trained, Value scale) {
    Type type = trained.gradient.getType();
    bool isVector = cast<RankedTensorType>(type).getRank() < 2;
    SmallVector<Value> operands = {trained.parameter,
                                   trained.moments[0],
                                   trained.moments[1],
                                   trained.gradient,
                                   scale,
                                   scalars.step,
                                   scalars.learningRate,
                                   scalars.beta1,
                                   scalars.beta2,
                                   scalars.epsilon,
                                   isVector ? scalars.vectorWeightDecay : scalars.weightDecay};
    func::FuncOp callee = functionFor("adamw", type, [&](StringRef name) {
      SmallVector<Type> results(3, type);
      func::FuncOp made = create(name, ValueRange(operands).getTypes(), results);
      auto inside = ImplicitLocOpBuilder::atBlockEnd(b.getLoc(), &made.front());
      auto op = AdamWUpdateOp::create(inside, results, made.getArguments());
      func::ReturnOp::create(inside, op.getResults());
      constexpr StringLiteral names[] = {"parameter", "mean", "variance"};
      for (auto [i, state] : llvm::enumerate(names)) {
        made.setArgAttr(i, attr::state, b.getStringAttr(state));
        made.setResultAttr(i, attr::state, b.getStringAttr(state));
      }
      return made;
    });
    auto updated = call(callee, operands);
    addResult(updated.getResult(0), named(attr::state, trained.name));
    for (auto [i, suffix] : llvm::enumerate(kMoments))
      addResult(updated.getResult(1 + i), named(attr::state, trained.name + suffix));
  }

  func::FuncOp function;
  StringRef evaluation;
  SymbolTable symbols;
  Operation *end;
  ImplicitLocOpBuilder b;
  Scalars scalars;
  SmallVector<Trained> all;
};

struct AddOptimizer : transformer::impl::AddOptimizerPassBase<AddOptimizer> {
  using Base::Base;
  void runOnOperation() override {
    auto gradients = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!gradients || gradients.isExternal() || gradients.getNumResults() < 2) {
      getOperation().emitError() << "has no function @" << function
                                 << " of a loss and gradients; run transformer-differentiate first";
      return signalPassFailure();
    }
    if (failed(StepBuilder(gradients, evaluation).run()))
      signalPassFailure();
  }
};

} // namespace
