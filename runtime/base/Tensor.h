//===- Tensor.h - a dense tensor in memory ----------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TENSOR_H
#define TRANSFORMER_RUNTIME_TENSOR_H

#include "runtime/base/DataType.h"
#include "runtime/base/Memory.h"

#include <map>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Dense, row-major, 64-byte aligned; owns its memory. Movable.
class Tensor {
public:
  Tensor() = default;
  /// Uninitialised elements. Throws Error when the size overflows or there is no memory.
  Tensor(DataType dtype, std::vector<int64_t> shape);
  /// Zeros; large ones take memory only where they are touched.
  static Tensor zeros(DataType dtype, std::vector<int64_t> shape);
  /// A tensor of zeros for each type and shape, in one piece of memory: few pages are small ones.
  static std::vector<Tensor>
  zeros(const std::vector<std::pair<DataType, std::vector<int64_t>>> &of);

  DataType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return sizes; }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  /// Number of elements.
  int64_t count() const { return elements; }
  int64_t bytes() const { return elements * byteWidth(type); }

  /// Takes the memory of `other`, if that is enough, instead of its own: the elements are what was
  /// there. Memory that has been in use is where the caches and the page table know it.
  void reuse(Tensor &&other);

  template <typename T> T *data() { return reinterpret_cast<T *>(buffer.data()); }
  template <typename T> const T *data() const { return reinterpret_cast<const T *>(buffer.data()); }

private:
  /// Without memory.
  static Tensor shaped(DataType dtype, std::vector<int64_t> shape);

  DataType type = DataType::F32;
  std::vector<int64_t> sizes{0};
  int64_t elements = 0;
  AlignedBuffer buffer;
};

/// Tensors by name: what goes into and comes out of an entry point.
using TensorMap = std::map<std::string, Tensor>;

/// The product of a shape's sizes times `width`, or -1 when a size is negative or the product does
/// not fit.
int64_t byteSize(const std::vector<int64_t> &shape, int64_t width);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TENSOR_H
