//===- ShapeFunctions.h - one private function for each shape ---*- C++ -*-===//
#ifndef PASSES_SHAPEFUNCTIONS_H
#define PASSES_SHAPEFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::transformer {

/// What a step does with each parameter, once for all of one shape: the function `PREFIX.4x8` for
/// a tensor of such a type, whose body `build` fills the first time.
inline func::FuncOp
functionForShape(SymbolTable &symbols, StringRef prefix, Type type, TypeRange arguments,
                 TypeRange results,
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

} // namespace mlir::transformer

#endif // PASSES_SHAPEFUNCTIONS_H
