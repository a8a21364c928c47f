//===- Descriptor.h - memrefs from raw pointers, constants -----------------===//
#ifndef CODEGEN_MODULE_DESCRIPTOR_H
#define CODEGEN_MODULE_DESCRIPTOR_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// The global that holds a module's tr_device_code, if it has any: a GPU's kernels.
inline constexpr llvm::StringLiteral kDeviceSymbol = "transformer.device";

/// A memref of `type` (identity layout) over `pointer` (!llvm.ptr); `sizes` are
/// its dynamic sizes (i64), in order.
Value memrefFromPointer(ImplicitLocOpBuilder &b, Value pointer, MemRefType type,
                        ArrayRef<Value> sizes = {});

/// Whether memrefFromPointer can make a value of `type` of a pointer and sizes.
bool isPointerAndSizes(Type type);

/// The types of `memref`'s pointer and dynamic sizes, for memrefFromPointer.
SmallVector<Type> typesOfPointerAndSizes(MemRefType memref);

/// A memref's pointer and dynamic sizes, as memrefFromPointer takes them.
SmallVector<Value> pointerAndSizes(ImplicitLocOpBuilder &b, Value memref);

/// A pointer to `text`, null-terminated, in a private global of the module that
/// holds the builder's place. Equal texts share one global.
Value stringPointer(ImplicitLocOpBuilder &b, StringRef text);

/// A constant global at the end of the module; `fill` sets the fields of a
/// value of `type`.
LLVM::GlobalOp emitConstant(ImplicitLocOpBuilder &b, ModuleOp module, StringRef name, Type type,
                            LLVM::Linkage linkage, function_ref<Value(Value)> fill);

} // namespace mlir::transformer

#endif // CODEGEN_MODULE_DESCRIPTOR_H
