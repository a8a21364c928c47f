//===- StepFunctions.cpp - what the passes that make steps share ----------===//
#include "passes/StepFunctions.h"
#include "dialect/GradientOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

DictionaryAttr mlir::transformer::named(Builder &b, StringRef key, const Twine &value) {
  return b.getDictionaryAttr(b.getNamedAttr(key, b.getStringAttr(value)));
}

OpOperand *mlir::transformer::dlossOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpOperand *>(op)
      .Case<CrossEntropyGradientOp, ElementLossGradientOp, SpanLossGradientOp>(
          [](auto backward) { return &backward.getDlossMutable(); })
      .Default(nullptr);
}

func::FuncOp mlir::transformer::functionOfStates(SymbolTable &symbols, StringRef name,
                                                 TypeRange types, ArrayRef<DictionaryAttr> states,
                                                 func::FuncOp other) {
  OpBuilder b(other.getContext());
  auto made = func::FuncOp::create(other.getLoc(), name, b.getFunctionType(types, types));
  made.setAllArgAttrs(states);
  made.setAllResultAttrs(states);
  b.setInsertionPointToEnd(made.addEntryBlock());
  func::ReturnOp::create(b, other.getLoc(), made.getArguments());
  symbols.insert(made, std::next(Block::iterator(other)));
  return made;
}

func::FuncOp mlir::transformer::functionForShape(
    SymbolTable &symbols, StringRef prefix, Type type, TypeRange arguments, TypeRange results,
    function_ref<void(func::FuncOp, ImplicitLocOpBuilder &)> build) {
  std::string name = prefix.str() + ".";
  llvm::raw_string_ostream stream(name);
  llvm::interleave(cast<RankedTensorType>(type).getShape(), stream, "x");
  if (auto made = symbols.lookup<func::FuncOp>(name))
    return made;
  Location loc = symbols.getOp()->getLoc();
  auto signature = FunctionType::get(type.getContext(), arguments, results);
  auto made = func::FuncOp::create(loc, name, signature);
  auto b = ImplicitLocOpBuilder::atBlockEnd(loc, made.addEntryBlock());
  build(made, b);
  made.setPrivate();
  symbols.insert(made);
  return made;
}
