//===- Descriptor.cpp - memrefs from raw pointers, constants ---------------===//
#include "codegen/module/Descriptor.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::transformer;

Value mlir::transformer::memrefFromPointer(ImplicitLocOpBuilder &b, Value pointer, MemRefType type,
                                           ArrayRef<Value> sizes) {
  LLVMTypeConverter converter(b.getContext());
  Type structType = converter.convertType(type);
  auto constant = [&](int64_t v) -> Value {
    return LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(v));
  };
  int64_t rank = type.getRank();
  SmallVector<Value> shape(rank), strides(rank);
  unsigned next = 0;
  for (int64_t i = 0; i < rank; ++i)
    shape[i] = type.isDynamicDim(i) ? sizes[next++] : constant(type.getDimSize(i));
  Value stride = constant(1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    if (i)
      stride = LLVM::MulOp::create(b, stride, shape[i]);
  }
  Value descriptor = LLVM::PoisonOp::create(b, structType);
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    descriptor = LLVM::InsertValueOp::create(b, descriptor, value, position);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(constant(0), {2});
  for (int64_t i = 0; i < rank; ++i) {
    set(shape[i], {3, i});
    set(strides[i], {4, i});
  }
  return UnrealizedConversionCastOp::create(b, TypeRange{type}, ValueRange{descriptor})
      .getResult(0);
}

bool mlir::transformer::isPointerAndSizes(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getLayout().isIdentity() && !memref.getMemorySpace();
}

SmallVector<Type> mlir::transformer::typesOfPointerAndSizes(MemRefType memref) {
  MLIRContext *context = memref.getContext();
  SmallVector<Type> types(1 + memref.getNumDynamicDims(), IntegerType::get(context, 64));
  types.front() = LLVM::LLVMPointerType::get(context);
  return types;
}

SmallVector<Value> mlir::transformer::pointerAndSizes(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Type structType = LLVMTypeConverter(b.getContext()).convertType(type);
  // Of a value of memrefFromPointer this is what was given to it.
  auto made = memref.getDefiningOp<UnrealizedConversionCastOp>();
  Value descriptor = made && made.getInputs().getTypes() == TypeRange{structType}
                         ? made.getInputs().front()
                         : UnrealizedConversionCastOp::create(b, structType, memref).getResult(0);
  SmallVector<Value> values;
  values.push_back(b.createOrFold<LLVM::ExtractValueOp>(descriptor, ArrayRef<int64_t>{1}));
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      values.push_back(b.createOrFold<LLVM::ExtractValueOp>(descriptor, ArrayRef<int64_t>{3, i}));
  return values;
}

Value mlir::transformer::stringPointer(ImplicitLocOpBuilder &b, StringRef text) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name = llvm::formatv("text_{0:x-}", llvm::xxh3_64bits(text));
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string value = text.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), value.size());
    global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Private, name,
                                    b.getStringAttr(value));
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
}

LLVM::GlobalOp mlir::transformer::emitConstant(ImplicitLocOpBuilder &b, ModuleOp module,
                                               StringRef name, Type type, LLVM::Linkage linkage,
                                               function_ref<Value(Value)> fill) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, linkage, name, Attribute());
  b.createBlock(&global.getInitializerRegion());
  Value value = LLVM::PoisonOp::create(b, type);
  LLVM::ReturnOp::create(b, fill(value));
  return global;
}
