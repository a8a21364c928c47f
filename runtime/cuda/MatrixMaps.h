//===- MatrixMaps.h - what tells a GPU of matrices --------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CUDA_MATRIXMAPS_H
#define TRANSFORMER_RUNTIME_CUDA_MATRIXMAPS_H

#include "runtime/cuda/Driver.h"

#include <array>
#include <compare>
#include <cstddef>
#include <map>

namespace transformer::runtime {

/// A matrix of numbers of 16 bits in a device's memory, and how many of its rows a box has.
struct MatrixBoxes {
  const void *data = nullptr;
  int64_t rows = 0, columns = 0, rowStride = 0, boxRows = 0; // in numbers

  auto operator<=>(const MatrixBoxes &) const = default;
};

/// What tr_tensor_map gives. Calls ask for the same ones again and again: each is made once.
class MatrixMaps {
public:
  explicit MatrixMaps(const CudaDriver &driver) : driver(driver) {}

  /// 128 bytes, valid until `trim`; of a matrix without numbers, which nobody copies, zeros. Throws
  /// Error when the driver cannot make it.
  const void *find(const MatrixBoxes &boxes);
  /// Forgets them where they are many.
  void trim();

private:
  struct alignas(64) Map {
    std::array<std::byte, 128> bytes = {};
  };

  Map make(const MatrixBoxes &boxes) const;

  const CudaDriver &driver;
  std::map<MatrixBoxes, Map> maps;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_MATRIXMAPS_H
