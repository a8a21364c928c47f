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

Tensor Tensor::shaped(DataType dtype, std::vector<int64_t> shape) {
  Tensor result;
  int64_t size = byteSize(shape, byteWidth(dtype));
  if (size < 0)
    fail("a tensor of shape {} is too large", shapeText(shape));
  result.type = dtype;
  result.sizes = std::move(shape);
  result.elements = size / byteWidth(dtype);
  return result;
}

Tensor::Tensor(DataType dtype, std::vector<int64_t> shape)
    : Tensor(shaped(dtype, std::move(shape))) {
  buffer = AlignedBuffer(static_cast<size_t>(bytes()));
}

Tensor Tensor::zeros(DataType dtype, std::vector<int64_t> shape) {
  return std::move(zeros({{dtype, std::move(shape)}}).front());
}

std::vector<Tensor>
Tensor::zeros(const std::vector<std::pair<DataType, std::vector<int64_t>>> &of) {
  std::vector<Tensor> tensors;
  size_t size = 0;
  for (const auto &[dtype, shape] : of) {
    tensors.push_back(shaped(dtype, shape));
    auto bytes = alignUp(static_cast<size_t>(tensors.back().bytes()));
    if (__builtin_add_overflow(size, bytes, &size))
      fail("tensors of zeros are too large together");
  }
  auto whole = std::make_shared<AlignedBuffer>(size);
  if (!whole->zero())
    std::memset(whole->data(), 0, whole->size());
  size_t offset = 0;
  for (Tensor &tensor : tensors) {
    auto bytes = static_cast<size_t>(tensor.bytes());
    tensor.buffer = AlignedBuffer(whole, offset, bytes);
    offset += alignUp(bytes);
  }
  return tensors;
}

void Tensor::reuse(Tensor &&other) {
  if (other.buffer.size() >= buffer.size())
    std::swap(buffer, other.buffer);
}

} // namespace transformer::runtime
