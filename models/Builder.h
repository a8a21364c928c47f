//===- Builder.h - builds the module of a model ---------------------------===//
#ifndef MODELS_BUILDER_H
#define MODELS_BUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "models/Body.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::transformer {

/// How names differ between checkpoints of a family.
struct AliasRule {
  /// The base model's prefix ("bert."), written in front of its parameters when
  /// a head stands beside it.
  std::string prefix;
  /// Whether this model's own names have the prefix.
  bool prefixed = false;
  /// Endings that other checkpoints write differently: ("LayerNorm.weight", "LayerNorm.gamma").
  SmallVector<std::pair<std::string, std::string>> endings;

  /// The other names of a parameter, in the order in which to look for them.
  SmallVector<std::string> aliases(llvm::StringRef name) const;
};

/// An input of the entry point, `[batch, sequence]` of integers unless it says otherwise.
struct Input {
  std::string name;
  /// How it is made when it is missing; null: it must be given.
  DefaultAttr missing = {};
  /// Every value is in `[low, high)`; 0: any value.
  int64_t high = 0;
  /// The longest sequence; 0: any.
  int64_t maxLength = 0;
  /// The second dimension is "decoder_sequence" instead of "sequence".
  bool decoder = false;
  /// The names of its dimensions, one for each; none: [batch, sequence].
  SmallVector<llvm::StringRef> dims = {};
  /// Every value is below the size of this name.
  llvm::StringRef below = {};
  /// Fixed sizes behind the batch, instead of named ones.
  SmallVector<int64_t> sizes = {};
  bool real = false; // of f32
  int64_t low = 0;   // see `high`
};

/// A function for all layers of one kind.
struct Layer {
  struct Weight {
    std::string name;
    RankedTensorType type;
    InitAttr init;
  };
  func::FuncOp function;
  /// The weights that follow the function's own arguments.
  SmallVector<Weight> weights;
};

/// Builds a module: parameters, layer functions and entry points, `forward` first.
class ModelBuilder {
public:
  ModelBuilder(MLIRContext &context, llvm::StringRef modelType);

  AliasRule aliases;
  DropoutRates dropout; // of @forward

  /// The body of the entry point at hand; weights are parameters by their full names.
  Body &entry() { return *entryBody; }
  /// Ends the entry point at hand and begins another one.
  void beginEntry(llvm::StringRef name);

  Value input(const Input &input);
  /// A tensor that the entry point updates: `name` is the state's, `dims` has the
  /// name of its dynamic size. The updated one is given to `output`.
  Value state(llvm::StringRef name, RankedTensorType type, llvm::StringRef size);
  void outputState(llvm::StringRef name, Value value);
  void output(llvm::StringRef name, Value value, llvm::ArrayRef<llvm::StringRef> dims = {});
  /// Drops padding; the packed inputs, then the sequences, of which `side`
  /// ("decoder_") is part of the name.
  SmallVector<Value> pack(ArrayRef<Value> inputs, Value mask, llvm::StringRef side = "");

  /// A default that compares another input, or that stands alone.
  DefaultAttr missing(DefaultKind kind, llvm::StringRef input = {}, int64_t value = 0);

  /// Defines a private function; `write` gives its results, the last of which are
  /// what became of those arguments that are state.
  struct Argument {
    llvm::StringRef name;
    Type type;
    bool isState = false;
  };
  using WriteLayer = llvm::function_ref<SmallVector<Value>(Body &, ValueRange)>;
  Layer statefulLayer(llvm::StringRef name, ArrayRef<Argument> arguments, InitScheme init,
                      WriteLayer write);
  Layer layer(llvm::StringRef name, ArrayRef<Argument> arguments, InitScheme init,
              llvm::function_ref<Value(Body &, ValueRange)> write) {
    return statefulLayer(name, arguments, init, [&](Body &body, ValueRange own) {
      return SmallVector<Value>{write(body, own)};
    });
  }
  /// Calls a layer with the parameters whose names begin with `scope`.
  ValueRange callAll(const Layer &layer, llvm::StringRef scope, ValueRange arguments,
                     llvm::StringRef name = "hidden");
  Value call(const Layer &layer, llvm::StringRef scope, ValueRange arguments,
             llvm::StringRef name = "hidden") {
    return callAll(layer, scope, arguments, name).front();
  }

  /// Declares a parameter that may be stored under further names.
  void declare(llvm::StringRef name, RankedTensorType type, InitAttr init,
               ArrayRef<std::string> otherNames = {});
  /// Declares one that is not trained.
  void declareFrozen(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, InitAttr init);

  /// What the model is trained for.
  void setObjective(ObjectiveAttr objective) {
    module->lookupSymbol("forward")->setAttr(attr::objective, objective);
  }
  void setAttribute(llvm::StringRef name, Attribute value) {
    module->getOperation()->setAttr(name, value);
  }

  Type sequencesType() const { return SequencesType::get(context); }
  MLIRContext *getContext() const { return context; }

  /// Completes and verifies the module; null and a message if it is not valid,
  /// which is an error of the family's builder.
  OwningOpRef<ModuleOp> finish(std::string &error);

private:
  /// Only @forward trains.
  const DropoutRates &rates() {
    static constexpr DropoutRates none;
    return entryFunction.getSymName() == "forward" ? dropout : none;
  }
  Value readParameter(llvm::StringRef name, RankedTensorType type, InitAttr init);
  Value addArgument(llvm::StringRef name, Type type, const NamedAttrList &attributes);
  void endEntry();

  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp entryFunction;
  /// Parameters stand in front of it.
  Operation *firstFunction;
  std::unique_ptr<Body> entryBody;
  llvm::StringSet<> declared;
  SmallVector<Value> outputs;
  SmallVector<DictionaryAttr> outputAttributes;
};

} // namespace mlir::transformer

#endif // MODELS_BUILDER_H
