//===- KernelVerify.cpp - what the operands of a kernel must be -----------===//
#include "codegen/kernels/KernelVerify.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer::kernel;

Type mlir::transformer::kernel::f32(Operation *op) { return Float32Type::get(op->getContext()); }
Type mlir::transformer::kernel::i64(Operation *op) {
  return IntegerType::get(op->getContext(), 64);
}
Type mlir::transformer::kernel::index(Operation *op) { return IndexType::get(op->getContext()); }

LogicalResult mlir::transformer::kernel::verifyBuffer(Operation *op, const Twine &what, Value value,
                                                      Type element, ArrayRef<int64_t> shape) {
  auto type = cast<ShapedType>(value.getType());
  if (type.getElementType() == element && succeeded(verifyCompatibleShape(type.getShape(), shape)))
    return success();
  std::string expected;
  llvm::raw_string_ostream text(expected);
  for (int64_t size : shape)
    text << (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) << "x";
  text << element;
  return op->emitOpError() << "expected " << what << " of " << expected << ", found " << type;
}

FailureOr<int64_t> mlir::transformer::kernel::verifyRows(Operation *op, const Twine &what,
                                                         Value value, Type element) {
  auto type = cast<ShapedType>(value.getType());
  if (failed(verifyBuffer(op, what, value, element ? element : f32(op), {kAny, kAny})))
    return failure();
  if (type.isDynamicDim(1))
    return op->emitOpError() << "expected " << what << " of a static width, found " << type;
  return type.getDimSize(1);
}

LogicalResult mlir::transformer::kernel::verifyRowsAndOut(Operation *op, const Twine &what,
                                                          Value rows, Value out) {
  FailureOr<int64_t> width = verifyRows(op, what, rows);
  if (failed(width))
    return failure();
  return verifyBuffer(op, "an out", out, f32(op), {kAny, *width});
}

LogicalResult mlir::transformer::kernel::verifyWords(Operation *op, const Twine &what, Value value,
                                                     int64_t width) {
  FailureOr<int64_t> words = verifyRows(op, what, value, IntegerType::get(op->getContext(), 32));
  if (failed(words))
    return failure();
  if (2 * *words < width)
    return op->emitOpError() << "expected words for " << width << " features, found "
                             << value.getType();
  return success();
}

LogicalResult mlir::transformer::kernel::verifyRoundedOut(Operation *op, Value out,
                                                          ArrayRef<int64_t> shape) {
  Type element = getElementTypeOrSelf(out);
  if (element.isInteger(32))
    return verifyWords(op, "an out", out, shape.back());
  return verifyBuffer(op, "an out", out, isHalf(element) ? element : f32(op), shape);
}

LogicalResult mlir::transformer::kernel::verifyCount(Operation *op, StringRef what, size_t expected,
                                                     size_t found) {
  if (expected == found)
    return success();
  return op->emitOpError() << "expected " << expected << " " << what << ", found " << found;
}

LogicalResult mlir::transformer::kernel::verifyKernel(Operation *op, size_t expectedOuts) {
  auto outs = cast<DestinationStyleOpInterface>(op).getDpsInitsMutable();
  if (failed(verifyCount(op, "outs", expectedOuts, outs.size())))
    return failure();
  bool tensors = isa<TensorType>(outs[0].get().getType());
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()) && isa<TensorType>(operand.getType()) != tensors)
      return op->emitOpError() << "expected all operands on " << (tensors ? "tensors" : "memrefs")
                               << " like its outs, found " << operand.getType();
  return success();
}
