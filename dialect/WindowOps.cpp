//===- WindowOps.cpp - rows from pixels and from neighbouring rows --------===//
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

int64_t PatchesOp::numPatches() {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getX().getType()).getShape().drop_front(2);
  int64_t count = 1;
  for (auto [dim, size] : llvm::zip_equal(shape, getSizes()))
    count *= dim / size;
  return count;
}

LogicalResult PatchesOp::verify() {
  auto type = cast<RankedTensorType>(getX().getType());
  ArrayRef<int64_t> shape = type.getShape().drop_front();
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return emitOpError() << "expected x of static sizes behind the batch, found " << type;
  ArrayRef<int64_t> sizes = getSizes();
  if (sizes.size() + 1 != shape.size())
    return emitOpError() << "expected " << shape.size() - 1 << " sizes, found " << sizes.size();
  int64_t width = shape.front();
  for (auto [dim, size] : llvm::zip_equal(shape.drop_front(), sizes)) {
    if (size < 1 || size > dim)
      return emitOpError() << "expected sizes in [1, " << dim << "], found " << size;
    width *= size;
  }
  if (static_cast<int64_t>(getFirst()) < 0)
    return emitOpError() << "expected first >= 0, found " << static_cast<int64_t>(getFirst());
  return verifyWidth(*this, "a result", getResult(), width);
}

LogicalResult WindowsOp::verify() {
  int64_t kernel = getKernel(), stride = getStride(), padding = getPadding();
  if (kernel < 1 || stride < 1 || padding < 0)
    return emitOpError() << "expected kernel >= 1, stride >= 1 and padding >= 0, found " << kernel
                         << ", " << stride << " and " << padding;
  return verifyWidth(*this, "a result", getResult(), kernel * widthOf(getX()));
}
