//===- AddOptimizer.cpp - loss and gradients to a training step -----------===//
#include "dialect/GradientOps.h"
#include "dialect/OptimizerOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/GradientSquares.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/StepFunctions.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ADDOPTIMIZERPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr StringLiteral kStep = "step", kLearningRate = "learning_rate";
constexpr StringLiteral kWeightDecay = "weight_decay", kVectorWeightDecay = "vector_weight_decay";
constexpr StringLiteral kMaxGradNorm = "max_grad_norm";
constexpr StringLiteral kSkippable = "skippable"; // of an optimizer's op
constexpr StringLiteral kUpdateScale = "update_scale";

/// What an optimizer keeps of a parameter: what follows the parameter's name and a dot, and a type.
struct Moment {
  StringRef name;
  RankedTensorType type;
};
using Moments = SmallVector<Moment, 2>;

/// An optimizer's op takes a parameter, its moments, a gradient, its scale, `scalars`, decay.
struct Optimizer {
  StringLiteral name;
  SmallVector<StringRef> scalars;
  Moments (*moments)(RankedTensorType parameter);
  ValueRange (*update)(ImplicitLocOpBuilder &b, TypeRange results, ValueRange operands);
  bool isSkippable; // its op can leave all as it was
};

template <typename OpTy>
ValueRange update(ImplicitLocOpBuilder &b, TypeRange results, ValueRange operands) {
  return OpTy::create(b, results, operands)->getResults();
}

Moments adamWMoments(RankedTensorType type) { return {{"exp_avg", type}, {"exp_avg_sq", type}}; }

Moments sgdMoments(RankedTensorType type) { return {{"momentum_buffer", type}}; }

Moments adafactorMoments(RankedTensorType type) {
  SmallVector<RankedTensorType> types = AdafactorUpdateOp::momentTypes(type);
  if (types.size() == 1)
    return {{"variance", types[0]}};
  return {{"row_var", types[0]}, {"col_var", types[1]}};
}

/// Names are PyTorch's.
const Optimizer optimizers[] = {
    {"adamw",
     {kStep, kLearningRate, "beta1", "beta2", "epsilon"},
     adamWMoments,
     update<AdamWUpdateOp>,
     true},
    {"sgd", {kLearningRate, "momentum"}, sgdMoments, update<SgdUpdateOp>, true},
    {"adafactor",
     {kStep, kLearningRate, "beta2_decay", "eps1", "eps2", "clip_threshold"},
     adafactorMoments,
     update<AdafactorUpdateOp>,
     false}};

/// A parameter with a gradient, as it enters the step.
struct Trained {
  StringRef name;
  BlockArgument parameter;
  Moments kept;
  SmallVector<Value> moments;
  Value gradient;
};

/// What its gradients are multiplied by; null: nothing.
BlockArgument findLossScale(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::name);
    if (name && name.getValue() == kLossScale)
      return argument;
  }
  return {};
}

class StepBuilder {
public:
  /// `isScaled`: gradients are `loss_scale` times what they would be. `isDeferred`: the next step
  /// begins with the update. `sumsTables`: as the pass' option.
  StepBuilder(func::FuncOp function, const Optimizer &optimizer, bool isScaled,
              bool isDeferred = false, bool sumsTables = false)
      : function(function), optimizer(optimizer), isScaled(isScaled), isDeferred(isDeferred),
        sumsTables(sumsTables), symbols(function->getParentOfType<ModuleOp>()),
        end(function.front().getTerminator()), b(function.getLoc(), end) {}

  /// Makes the function an entry point, a step.
  LogicalResult run(StringRef name) {
    makeEntry(name);
    addScalars();
    if (failed(addParameters()))
      return failure();
    SmallVector<Value> gradients =
        llvm::map_to_vector(all, [](Trained &trained) { return trained.gradient; });
    SmallVector<Value> sums =
        sumSquaresInCallees(cast<ModuleOp>(symbols.getOp()), gradients, sumsTables);
    Value squares;
    for (auto [trained, gradient, of] : llvm::zip_equal(all, gradients, sums)) {
      trained.gradient = gradient;
      if (!of)
        of = squaresOf(gradient);
      squares = squares ? arith::AddFOp::create(b, squares, of).getResult() : of;
    }
    Value inverse;
    if (isScaled) {
      Value one = scalarOf(1);
      inverse = arith::DivFOp::create(b, one, lossScale());
      squares = arith::MulFOp::create(b, squares, inverse);
      squares = arith::MulFOp::create(b, squares, inverse);
    }
    auto clip = ClipGradNormOp::create(b, squares, scalars.at(kMaxGradNorm));
    Value scale = clip.getScale();
    if (isScaled) {
      scale = arith::MulFOp::create(b, scale, inverse);
      Value poison = arith::MulFOp::create(b, clip.getNorm(), scalarOf(0)); // of no finite norm NaN
      scale = arith::AddFOp::create(b, scale, poison);
    }
    llvm::BitVector left(function.getNumResults()); // what is state stays as it is
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      left[i] = isGradient(i) && !function.getResultAttr(i, attr::state);
    if (failed(function.eraseResults(left)))
      return failure();
    end->eraseOperands(left);
    addResult(clip.getNorm(), named(b, attr::name, "grad_norm"));
    if (!isDeferred) {
      update(scale);
      return success();
    }
    addResult(scale, named(b, attr::name, kUpdateScale));
    leaveGradients();
    b.setInsertionPointToStart(&function.front());
    update(addUpdateScale());
    return success();
  }

  /// Makes the function, which returns gradients that are state, the entry point that ends a step
  /// whose update is deferred.
  LogicalResult finish() {
    makeEntry(function.getName());
    addScalars();
    if (failed(addParameters()))
      return failure();
    update(addUpdateScale());
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
        DictionaryAttr name = named(b, attr::state, read.getName());
        state = addArgument(other, read.getType(), name);
        addResult(other, state, name);
      }
      read.replaceAllUsesWith(state);
      read.erase();
    }
  }

private:
  void makeEntry(StringRef name) {
    symbols.remove(function);
    function.setName(name);
    symbols.insert(function, {});
    function.setPublic();
    function->setAttr(attr::entry, b.getUnitAttr());
  }

  BlockArgument addUpdateScale() {
    return addArgument(RankedTensorType::get({}, b.getF32Type()),
                       named(b, attr::name, kUpdateScale));
  }

  /// Gradients are state: those of the step before come in, this one's go out.
  void leaveGradients() {
    for (Trained &trained : all) {
      DictionaryAttr name = named(b, attr::state, trained.name + kGradient);
      addResult(trained.gradient, name);
      trained.gradient = addArgument(trained.gradient.getType(), name);
    }
  }

  DictionaryAttr stateOf(const Trained &trained, const Moment &moment) {
    return named(b, attr::state, trained.name + "." + moment.name);
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

  Value scalarOf(float number) {
    auto type = RankedTensorType::get({}, b.getF32Type());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
  }

  /// Of the function, which may have it by now.
  Value lossScale() {
    if (BlockArgument given = findLossScale(function))
      return given;
    return addArgument(RankedTensorType::get({}, b.getF32Type()), named(b, attr::name, kLossScale));
  }

  void addScalars() {
    SmallVector<StringRef> names = {kStep, kLearningRate};
    for (StringRef name : optimizer.scalars)
      if (!llvm::is_contained(names, name))
        names.push_back(name);
    names.append({kWeightDecay, kVectorWeightDecay, kMaxGradNorm});
    for (StringRef name : names) {
      Type type = name == kStep ? Type(b.getI64Type()) : b.getF64Type();
      scalars[name] = addArgument(RankedTensorType::get({}, type), named(b, attr::name, name));
    }
  }

  StringRef resultName(unsigned index) {
    for (StringRef key : {attr::name, attr::state})
      if (auto name = function.getResultAttrOfType<StringAttr>(index, key))
        return name.getValue();
    return "";
  }
  bool isGradient(unsigned index) { return resultName(index).ends_with(kGradient); }

  /// What has a gradient is no longer read, but an argument.
  LogicalResult addParameters() {
    llvm::StringMap<SmallVector<GetParameterOp>> reads;
    for (auto read : function.getOps<GetParameterOp>())
      reads[read.getName()].push_back(read);
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (i == 0 && !isGradient(i))
        continue; // the loss
      StringRef name = resultName(i);
      bool isState = !!function.getResultAttr(i, attr::state); // the parameter is not read here
      if (!name.consume_back(kGradient) || !(isState || reads.contains(name)))
        return function.emitError() << "result " << i << ": expected a parameter's gradient, found "
                                    << (name.empty() ? "no name" : resultName(i));
      auto type = cast<RankedTensorType>(end->getOperand(i).getType());
      Trained trained{name, {}, optimizer.moments(type), {}, end->getOperand(i)};
      trained.parameter = addArgument(type, named(b, attr::state, name));
      for (const Moment &moment : trained.kept)
        trained.moments.push_back(addArgument(moment.type, stateOf(trained, moment)));
      for (GetParameterOp read : reads[name]) {
        read.replaceAllUsesWith(static_cast<Value>(trained.parameter));
        read.erase();
      }
      all.push_back(trained);
    }
    return success();
  }

  func::CallOp call(func::FuncOp callee, ValueRange operands) {
    return func::CallOp::create(b, callee, operands);
  }

  /// Where the gradient has just been made: much of it is in a cache still, and a product over
  /// tokens sums the squares itself.
  Value squaresOf(Value gradient) {
    Type type = gradient.getType();
    auto scalar = RankedTensorType::get({}, b.getF32Type());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(gradient);
    if (gradient.getDefiningOp<LinearWeightGradientOp>())
      return SumSquaresOp::create(b, scalar, gradient);
    auto build = [](func::FuncOp made, ImplicitLocOpBuilder &inside) {
      Value sum = SumSquaresOp::create(inside, made.getArgument(0));
      func::ReturnOp::create(inside, sum);
    };
    func::FuncOp callee = functionForShape(symbols, "squares", type, type, scalar, build);
    return call(callee, gradient).getResult(0);
  }

  void update(Value scale) {
    for (Trained &trained : all)
      update(trained, scale);
  }

  void update(Trained &trained, Value scale) {
    Type type = trained.gradient.getType();
    bool isVector = cast<RankedTensorType>(type).getRank() < 2;
    SmallVector<Value> operands = {trained.parameter};
    llvm::append_range(operands, trained.moments);
    operands.append({trained.gradient, scale});
    for (StringRef name : optimizer.scalars)
      operands.push_back(scalars.at(name));
    operands.push_back(scalars.at(isVector ? kVectorWeightDecay : kWeightDecay));
    SmallVector<Type> results = {type};
    SmallVector<StringRef> names = {"parameter"};
    for (const Moment &moment : trained.kept) {
      results.push_back(moment.type);
      names.push_back(moment.name);
    }
    auto build = [&](func::FuncOp made, ImplicitLocOpBuilder &inside) {
      ValueRange updated = optimizer.update(inside, results, made.getArguments());
      if (isScaled || isDeferred)
        updated.front().getDefiningOp()->setAttr(kSkippable, b.getUnitAttr());
      func::ReturnOp::create(inside, updated);
      for (auto [i, state] : llvm::enumerate(names)) {
        made.setArgAttr(i, attr::state, b.getStringAttr(state));
        made.setResultAttr(i, attr::state, b.getStringAttr(state));
      }
    };
    func::FuncOp callee = functionForShape(symbols, optimizer.name, type,
                                           ValueRange(operands).getTypes(), results, build);
    auto updated = call(callee, operands);
    if (isDeferred)
      trained.parameter.replaceAllUsesExcept(updated.getResult(0), updated);
    addResult(updated.getResult(0), named(b, attr::state, trained.name));
    for (auto [i, moment] : llvm::enumerate(trained.kept))
      addResult(updated.getResult(1 + i), stateOf(trained, moment));
  }

  func::FuncOp function;
  const Optimizer &optimizer;
  bool isScaled, isDeferred, sumsTables;
  SymbolTable symbols;
  Operation *end;
  ImplicitLocOpBuilder b;
  llvm::StringMap<Value> scalars;
  SmallVector<Trained> all;
};

/// A function of the gradients that `function` makes, as state.
func::FuncOp addEnd(func::FuncOp function) {
  Builder b(function.getContext());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> states;
  for (unsigned i = 1; i < function.getNumResults(); ++i) {
    types.push_back(function.getResultTypes()[i]);
    auto name = function.getResultAttrOfType<StringAttr>(i, attr::name);
    states.push_back(named(b, attr::state, name ? name.getValue() : StringRef()));
  }
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  return functionOfStates(symbols, kApplyUpdate, types, states, function);
}

/// Embeddings' gradients begin with what they are added to.
void addOntoTables(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  EmbeddingGradientOp::getCanonicalizationPatterns(patterns, function.getContext());
  SmallVector<Operation *> embeddings;
  for (auto op : function.front().getOps<EmbeddingGradientOp>())
    embeddings.push_back(op);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  (void)applyOpPatternsGreedily(embeddings, std::move(patterns), config);
}

struct AddOptimizer : transformer::impl::AddOptimizerPassBase<AddOptimizer> {
  using Base::Base;
  void runOnOperation() override {
    const Optimizer *chosen =
        llvm::find_if(optimizers, [&](const Optimizer &o) { return o.name == optimizer; });
    if (chosen == std::end(optimizers)) {
      getOperation().emitError() << "optimizer \"" << optimizer << "\": expected "
                                 << listOf(optimizerNames());
      return signalPassFailure();
    }
    auto gradients = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!gradients || gradients.isExternal() || gradients.getNumResults() < 2) {
      getOperation().emitError() << "has no function @" << function
                                 << " of a loss and gradients; run transformer-differentiate first";
      return signalPassFailure();
    }
    auto apply = getOperation().lookupSymbol<func::FuncOp>(kApplyGradients);
    SmallVector<StringRef> readers = {evaluation};
    if (apply)
      readers.append({kAccumulateGradients, kCountLabels});
    for (auto other : getOperation().getOps<func::FuncOp>())
      if (!llvm::is_contained(readers, other.getName())) {
        other->removeAttr(attr::entry);
        other.setPrivate();
      }
    bool isScaled = !!findLossScale(gradients);
    if (isScaled && !chosen->isSkippable) {
      getOperation().emitError() << "optimizer \"" << optimizer << "\" skips no step, as a "
                                 << kLossScale << " asks for";
      return signalPassFailure();
    }
    if (tables)
      addOntoTables(gradients);
    bool isDeferred = defer && chosen->isSkippable && !isScaled && !apply;
    if (isDeferred && failed(StepBuilder(addEnd(gradients), *chosen, isScaled, true).finish()))
      return signalPassFailure();
    // Behind the end of a step, whose functions it shares.
    StepBuilder step(gradients, *chosen, isScaled, isDeferred, tables);
    if (failed(step.run("train_step")) ||
        (apply && failed(StepBuilder(apply, *chosen, isScaled).run(kApplyGradients))))
      return signalPassFailure();
    for (StringRef name : readers)
      if (auto reader = getOperation().lookupSymbol<func::FuncOp>(name))
        step.readState(reader);
  }
};

} // namespace

SmallVector<StringRef> transformer::optimizerNames() {
  return llvm::map_to_vector(optimizers, [](const Optimizer &o) -> StringRef { return o.name; });
}
