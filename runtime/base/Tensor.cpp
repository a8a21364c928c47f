//===- Tensor.cpp - a dense tensor in memory ------------------------------===//
#include "runtime/base/Tensor.h"

#include "runtime/base/Error.h"

#include <cstring>

namespace transformer::runtime {

int64_t byteSize(const std::vector<int64_t> &shape, int64_t width) {
  int64_t product = width;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return -1;
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, size, &product))
      return -1;
  }
  return empty ? 0 : product;
}

Tensor::Tensor(DataType dtype, std::vector<int64_t> shape) : type(dtype), sizes(std::move(shape)) {
  int64_t size = byteSize(sizes, byteWidth(type));
  if (size < 0)
    fail("a tensor of shape {} is too large", shapeText(sizes));
  elements = size / byteWidth(type);
  buffer = AlignedBuffer(static_cast<size_t>(size));
}

Tensor Tensor::zeros(DataType dtype, std::vector<int64_t> shape) {
  Tensor result(dtype, std::move(shape));
  if (!result.buffer.zero())
    std::memset(result.buffer.data(), 0, result.buffer.size());
  return result;
}

void Tensor::reuse(Tensor &&other) {
  if (other.buffer.size() >= buffer.size())
    std::swap(buffer, other.buffer);
}

} // namespace transformer::runtime
