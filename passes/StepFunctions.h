//===- StepFunctions.h - what the passes that make steps share --*- C++ -*-===//
#ifndef PASSES_STEPFUNCTIONS_H
#define PASSES_STEPFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::transformer {

/// Behind a parameter's name: its gradient's.
constexpr llvm::StringLiteral kGradient = ".grad";

/// The entry points of a step in parts, which the runtime knows by these names.
constexpr llvm::StringLiteral kCountLabels = "count_labels";
constexpr llvm::StringLiteral kAccumulateGradients = "accumulate_gradients";
constexpr llvm::StringLiteral kApplyGradients = "apply_gradients";

/// The entry point that ends a step whose update the next one would make.
constexpr llvm::StringLiteral kApplyUpdate = "apply_update";

/// What gradients of a loss are multiplied by, an input of a step in float16.
constexpr llvm::StringLiteral kLossScale = "loss_scale";

/// What the backward of a loss takes as the loss's own gradient; null: `op` is no such.
OpOperand *dlossOf(Operation *op);

/// The attributes of an argument or a result: `key` (its name or its state) is `value`.
DictionaryAttr named(Builder &b, StringRef key, const Twine &value);

/// A function that is given states and gives them back, behind `other`: what makes steps of
/// gradients makes one of it.
func::FuncOp functionOfStates(SymbolTable &symbols, StringRef name, TypeRange types,
                              ArrayRef<DictionaryAttr> states, func::FuncOp other);

/// What a step does with each parameter, once for all of one shape: the function `PREFIX.4x8` for
/// a tensor of such a type, whose body `build` fills the first time.
func::FuncOp functionForShape(SymbolTable &symbols, StringRef prefix, Type type,
                              TypeRange arguments, TypeRange results,
                              function_ref<void(func::FuncOp, ImplicitLocOpBuilder &)> build);

} // namespace mlir::transformer

#endif // PASSES_STEPFUNCTIONS_H
