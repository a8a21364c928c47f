//===- Works.cpp - what the runtime is told of loops, for profiles --------===//
#include "codegen/module/Works.h"
#include "codegen/module/Descriptor.h"
#include "codegen/module/HostCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/abi/ModuleAbi.h"

using namespace mlir;
using namespace mlir::transformer;

/// The constant tr_work that stands for `op`.
static Value describe(ImplicitLocOpBuilder &b, ModuleOp module, kernel::WorkOp op,
                      unsigned number) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto list = LLVM::LLVMArrayType::get(i64, TR_MAX_AMOUNTS);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                               {pointer, pointer, pointer, i64, list, list, i64});
  std::string name = "transformer.work" + std::to_string(number);
  emitConstant(b, module, name, type, LLVM::Linkage::Internal, [&](Value value) {
    auto set = [&](Value field, ArrayRef<int64_t> position) {
      value = LLVM::InsertValueOp::create(b, value, field, position);
    };
    auto constant = [&](int64_t v) {
      return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(v));
    };
    set(stringPointer(b, op.getLabel()), {0});
    set(op.getLayer() ? stringPointer(b, *op.getLayer())
                      : LLVM::ZeroOp::create(b, pointer).getResult(),
        {1});
    set(stringPointer(b, op.getShape()), {2});
    int64_t amounts = op.getAmounts().size();
    set(constant(amounts), {3});
    for (int64_t i = 0; i < TR_MAX_AMOUNTS; ++i) {
      set(constant(i < amounts ? op.getFlops()[i] : 0), {4, i});
      set(constant(i < amounts ? op.getBytes()[i] : 0), {5, i});
    }
    set(constant(op.getFixedBytes()), {6});
    return value;
  });
  return LLVM::AddressOfOp::create(b, pointer, name);
}

WorkPointers mlir::transformer::lowerWork(ImplicitLocOpBuilder &b, func::FuncOp function,
                                          kernel::WorkOp op, unsigned number) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value none = LLVM::ZeroOp::create(b, pointer);
  if (!op)
    return {none, none};
  WorkPointers result{describe(b, function->getParentOfType<ModuleOp>(), op, number), none};
  if (op.getAmounts().empty())
    return result;
  auto list = LLVM::LLVMArrayType::get(b.getI64Type(), op.getAmounts().size());
  result.amounts = stackSlot(b, function, list);
  for (auto [i, amount] : llvm::enumerate(op.getAmounts())) {
    Value place = LLVM::GEPOp::create(b, pointer, list, result.amounts,
                                      ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, arith::IndexCastOp::create(b, b.getI64Type(), amount), place);
  }
  return result;
}
