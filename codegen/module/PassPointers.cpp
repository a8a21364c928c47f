//===- PassPointers.cpp - pointers in place of memref arguments ------------===//
#include "codegen/Passes.h"
#include "codegen/module/Descriptor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PASSPOINTERS
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool isCalledHereAlone(func::FuncOp function) {
  auto linkage = function->getAttrOfType<LLVM::LinkageAttr>("llvm.linkage");
  return !function.isExternal() && linkage && linkage.getLinkage() == LLVM::Linkage::Internal;
}

/// The function makes the memrefs that it had as arguments.
void takePointers(func::FuncOp function) {
  Block &block = function.front();
  auto b = ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &block);
  SmallVector<Value> old = llvm::to_vector_of<Value>(block.getArguments());
  for (Value argument : old) {
    auto add = [&](Type type) -> Value { return block.addArgument(type, argument.getLoc()); };
    if (!isPointerAndSizes(argument.getType())) {
      argument.replaceAllUsesWith(add(argument.getType()));
      continue;
    }
    auto type = cast<MemRefType>(argument.getType());
    auto parts = llvm::map_to_vector(typesOfPointerAndSizes(type), add);
    if (!argument.use_empty())
      argument.replaceAllUsesWith(
          memrefFromPointer(b, parts.front(), type, ArrayRef(parts).drop_front()));
  }
  block.eraseArguments(0, old.size());
  function.setType(b.getFunctionType(block.getArgumentTypes(), function.getResultTypes()));
}

void passPointers(func::CallOp call) {
  ImplicitLocOpBuilder b(call.getLoc(), call);
  SmallVector<Value> operands;
  for (Value operand : call.getOperands())
    if (isPointerAndSizes(operand.getType()))
      llvm::append_range(operands, pointerAndSizes(b, operand));
    else
      operands.push_back(operand);
  call.getOperandsMutable().assign(operands);
}

struct PassPointersPass : mlir::transformer::impl::PassPointersBase<PassPointersPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DenseSet<func::FuncOp> changed;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isCalledHereAlone(function) &&
          llvm::any_of(function.getArgumentTypes(), isPointerAndSizes)) {
        takePointers(function);
        changed.insert(function);
      }
    getOperation().walk([&](func::CallOp call) {
      if (changed.contains(symbols.lookup<func::FuncOp>(call.getCallee())))
        passPointers(call);
    });
  }
};

} // namespace
