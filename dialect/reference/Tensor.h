//===- Tensor.h - values of the reference interpreter -----------*- C++ -*-===//
#ifndef DIALECT_REFERENCE_TENSOR_H
#define DIALECT_REFERENCE_TENSOR_H

#include <cstdint>
#include <variant>
#include <vector>

namespace mlir::transformer::reference {

/// A dense row-major tensor; a scalar has no dimensions. Floating-point
/// elements of any width are held as double, integers and index as int64_t.
struct Tensor {
  std::vector<int64_t> shape;
  std::variant<std::vector<double>, std::vector<int64_t>> data;

  static int64_t count(const std::vector<int64_t> &shape) {
    int64_t size = 1;
    for (int64_t dim : shape)
      size *= dim;
    return size;
  }
  /// Zeros of the given shape.
  static Tensor zeros(std::vector<int64_t> shape) {
    std::vector<double> data(count(shape));
    return {std::move(shape), std::move(data)};
  }
  static Tensor integerZeros(std::vector<int64_t> shape) {
    std::vector<int64_t> data(count(shape));
    return {std::move(shape), std::move(data)};
  }
  static Tensor scalar(int64_t value) { return {{}, std::vector<int64_t>{value}}; }

  bool isInteger() const { return std::holds_alternative<std::vector<int64_t>>(data); }
  int64_t size() const { return count(shape); }
  int64_t rank() const { return shape.size(); }

  std::vector<double> &reals() { return std::get<0>(data); }
  const std::vector<double> &reals() const { return std::get<0>(data); }
  std::vector<int64_t> &integers() { return std::get<1>(data); }
  const std::vector<int64_t> &integers() const { return std::get<1>(data); }

  /// Row `t` of a `[T, W]` tensor of reals.
  double *row(int64_t t) { return reals().data() + t * shape[1]; }
  const double *row(int64_t t) const { return reals().data() + t * shape[1]; }
};

/// The value of a `!transformer.sequences`.
struct Sequences {
  int64_t batch = 0, length = 0; // the mask's shape
  std::vector<int64_t>
      offsets;                 // [batch + 1]: sequence b owns rows offsets[b] .. offsets[b + 1] - 1
  std::vector<int64_t> places; // [T]: row t came from (places[t] / length, places[t] % length)

  int64_t tokens() const { return places.size(); }
};

} // namespace mlir::transformer::reference

#endif // DIALECT_REFERENCE_TENSOR_H
