//===- HostCalls.cpp - calls of what the host gives a module --------------===//
#include "codegen/module/HostCalls.h"
#include "codegen/module/Descriptor.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::transformer;

void mlir::transformer::declareHostFunction(ModuleOp module, StringRef name, TypeRange arguments,
                                            TypeRange results) {
  if (module.lookupSymbol<func::FuncOp>(name))
    return;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  func::FuncOp::create(b, module.getLoc(), name, b.getFunctionType(arguments, results))
      .setPrivate();
}

Value mlir::transformer::stackSlot(ImplicitLocOpBuilder &b, func::FuncOp function, Type type) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.front());
  Value one = LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(1));
  return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), type, one);
}

void mlir::transformer::emitScopes(ModuleOp module) {
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](func::CallOp call) {
      auto scope = call->getAttrOfType<StringAttr>(attr::scope);
      if (!scope)
        return;
      ImplicitLocOpBuilder b(call.getLoc(), call);
      declareHostFunction(module, "tr_scope", {pointer});
      func::CallOp::create(b, "tr_scope", TypeRange{}, stringPointer(b, scope.getValue()));
      ImplicitLocOpBuilder after(call.getLoc(), call->getNextNode());
      Value none = LLVM::ZeroOp::create(after, pointer);
      func::CallOp::create(after, "tr_scope", TypeRange{}, none);
    });
  }
}
