//===- AddLora.cpp - adapters of linear layers that are trained -----------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Lora.h"
#include "passes/ParameterAnalysis.h"
#include "passes/Passes.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ADDLORAPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The matrices of an adapter where a linear layer reads them.
struct Matrices {
  Value down, up;
};

/// A layer with adapters, which are its last arguments, two for each of `weights`.
struct AdaptedLayer {
  func::FuncOp function;
  SmallVector<unsigned> weights; // arguments
};

class Adapting {
public:
  Adapting(ModuleOp module, LoraAttr lora) : symbols(module), lora(lora) {}

  void run(func::FuncOp entry) {
    llvm::MapVector<StringRef, Matrices> known;
    adapt(
        entry, [&](Value value) { return readsTarget(value); },
        [&](Value weight, WeightLayout layout) {
          auto read = weight.getDefiningOp<GetParameterOp>();
          auto [it, isNew] = known.try_emplace(read.getName());
          if (isNew) {
            Adapter adapter = declareAdapter(symbols, symbols.lookup<ParameterOp>(read.getName()),
                                             layout, lora.getRank());
            OpBuilder b = OpBuilder::atBlockBegin(&entry.front());
            auto get = [&](ParameterOp parameter) -> Value {
              return GetParameterOp::create(b, read.getLoc(), parameter.getType(),
                                            parameter.getSymName());
            };
            it->second = {get(adapter.down), get(adapter.up)};
          }
          return it->second;
        });
  }

private:
  using IsTarget = function_ref<bool(Value)>;
  using MatricesOf = function_ref<Matrices(Value, WeightLayout)>;

  bool readsTarget(Value value) const {
    auto read = value.getDefiningOp<GetParameterOp>();
    return read && lora.adapts(read.getName());
  }

  /// Adds to linear layers of `function`, and of what it calls, whose weight is a target.
  void adapt(func::FuncOp function, IsTarget isTarget, MatricesOf matricesOf) {
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      if (auto linear = dyn_cast<LinearOp>(op); linear && isTarget(linear.getWeight()))
        addBranch(linear, matricesOf(linear.getWeight(), linear.getLayout()));
      else if (auto call = dyn_cast<func::CallOp>(op))
        adaptCall(call, isTarget, matricesOf);
    }
  }

  void addBranch(LinearOp linear, Matrices matrices) {
    ImplicitLocOpBuilder b(linear.getLoc(), linear);
    b.setInsertionPointAfter(linear);
    Value x = linear.getX();
    if (!lora.getDropout().isZero())
      x = DropoutOp::create(b, x.getType(), x, Value(), lora.getDropout());
    auto rowsOf = [&](int64_t width) {
      return RankedTensorType::get({linear.getType().getShape()[0], width}, b.getF32Type());
    };
    Value down =
        LinearOp::create(b, rowsOf(lora.getRank()), x, matrices.down, Value(), WeightLayout::OutIn);
    Value scaled = scaleAdapter(b, b.getLoc(), lora, matrices.up);
    Value up = LinearOp::create(b, linear.getType(), down, scaled, Value(), WeightLayout::OutIn);
    Value sum = arith::AddFOp::create(b, linear, up);
    linear.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }

  void adaptCall(func::CallOp call, IsTarget isTarget, MatricesOf matricesOf) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return;
    llvm::BitVector targets(call.getNumOperands());
    for (auto [i, operand] : llvm::enumerate(call.getOperands()))
      targets[i] = isTarget(operand);
    if (targets.none())
      return;
    AdaptedLayer &layer = layerOf(callee, targets);
    if (layer.weights.empty())
      return;
    SmallVector<Value> operands(call.getOperands());
    for (auto [i, weight] : llvm::enumerate(layer.weights)) {
      Matrices matrices = matricesOf(call.getOperand(weight), layouts[{layer.function, weight}]);
      operands.append({matrices.down, matrices.up});
    }
    OpBuilder b(call);
    auto adapted = func::CallOp::create(b, call.getLoc(), layer.function, operands);
    adapted->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    call.replaceAllUsesWith(adapted.getResults());
    call.erase();
  }

  /// A copy of `layer` whose arguments `targets` are weights of targets; others may call it as it
  /// is.
  AdaptedLayer &layerOf(func::FuncOp layer, const llvm::BitVector &targets) {
    std::string key = layer.getName().str();
    for (unsigned i = 0; i < targets.size(); ++i)
      key += targets[i] ? '1' : '0';
    auto [it, isNew] = layers.try_emplace(key);
    if (!isNew)
      return it->second;
    func::FuncOp made = layer.clone();
    made.setName((layer.getName() + "_lora").str());
    symbols.insert(made, std::next(Block::iterator(layer)));
    AdaptedLayer result{made, {}};
    DenseMap<Value, Matrices> known;
    auto isTarget = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getArgNumber() < targets.size() &&
             targets[argument.getArgNumber()];
    };
    adapt(made, isTarget, [&](Value weight, WeightLayout layout) {
      auto [at, isNewWeight] = known.try_emplace(weight);
      if (isNewWeight) {
        unsigned argument = cast<BlockArgument>(weight).getArgNumber();
        result.weights.push_back(argument);
        layouts[{made, argument}] = layout;
        at->second = addArguments(made, weight, layout);
      }
      return at->second;
    });
    return layers[key] = result;
  }

  Matrices addArguments(func::FuncOp function, Value weight, WeightLayout layout) {
    auto type = cast<RankedTensorType>(weight.getType());
    bool isInOut = layout == WeightLayout::InOut;
    auto add = [&](ArrayRef<int64_t> shape, StringRef name) -> Value {
      unsigned index = function.getNumArguments();
      Location loc = NameLoc::get(StringAttr::get(function.getContext(), name));
      (void)function.insertArgument(index, RankedTensorType::get(shape, type.getElementType()), {},
                                    loc);
      return function.getArgument(index);
    };
    Value down = add({lora.getRank(), type.getDimSize(isInOut ? 0 : 1)}, "lora_A");
    return {down, add({type.getDimSize(isInOut ? 1 : 0), lora.getRank()}, "lora_B")};
  }

  SymbolTable symbols;
  LoraAttr lora;
  llvm::StringMap<AdaptedLayer> layers;
  DenseMap<std::pair<Operation *, unsigned>, WeightLayout> layouts; // of a layer's weights
};

struct AddLora : transformer::impl::AddLoraPassBase<AddLora> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    LoraAttr lora = loraOf(module);
    if (!lora)
      return;
    if (failed(checkReaders(module, lora)))
      return signalPassFailure();
    auto own = llvm::to_vector(module.getOps<ParameterOp>());
    Adapting adapting(module, lora);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (isEntry(function) && !function.isExternal())
        adapting.run(function);
    if (failed(checkTargets(module, lora)))
      return signalPassFailure();
    for (ParameterOp parameter : own)
      parameter.setFrozen(true);
  }
};

} // namespace
