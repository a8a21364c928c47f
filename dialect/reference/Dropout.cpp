//===- Dropout.cpp - numbers that a training step drops -------------------===//
#include "dialect/reference/Operations.h"
#include <array>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

/// Philox4x32-10 (Salmon et al. 2011).
static std::array<uint32_t, 4> philox(uint64_t key, std::array<uint32_t, 4> counter) {
  auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0], b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

DropoutFactors::DropoutFactors(const Tensor *key, double rate)
    : isThere(key), key(key ? static_cast<uint64_t>(key->integers()[0]) : 0),
      below(static_cast<uint64_t>(rate * 4294967296.0)), scale(1 / (1 - rate)) {}

double DropoutFactors::at(int64_t row, int64_t column, int64_t stream) const {
  if (!isThere)
    return 1;
  auto word = [](int64_t value) { return static_cast<uint32_t>(value); };
  auto numbers = philox(key, {word(column / 32 * 8 + column % 8), word(row), word(stream), 0});
  return numbers[column % 32 / 8] < below ? 0 : scale;
}

LogicalResult reference::evaluate(DropoutOp op, Frame &frame) {
  Tensor result = frame.tensor(op.getX());
  DropoutFactors factors(frame.optional(op.getKey()), op.getRate().convertToDouble());
  for (int64_t t = 0; t < result.shape[0]; ++t)
    for (int64_t c = 0; c < result.shape[1]; ++c)
      result.row(t)[c] *= factors.at(t, c, /*stream=*/0);
  frame.set(op.getResult(), std::move(result));
  return success();
}
