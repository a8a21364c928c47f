//===- Philox.cpp - random numbers of a counter ---------------------------===//
#include "codegen/math/Philox.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::transformer;

std::array<Value, 4> mlir::transformer::emitPhilox(ImplicitLocOpBuilder &b,
                                                   std::array<Value, 2> key,
                                                   std::array<Value, 4> counter) {
  Type type = counter[0].getType();
  auto constant = [&](uint32_t value) {
    return integerConstant(b, type, static_cast<int32_t>(value));
  };
  auto multiply = [&](Value x, uint32_t by) {
    return arith::MulUIExtendedOp::create(b, TypeRange{type, type}, x, constant(by));
  };
  auto mix = [&](Value x, Value y, Value z) -> Value {
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, x, y), z);
  };
  auto add = [&](Value x, uint32_t y) -> Value { return arith::AddIOp::create(b, x, constant(y)); };
  for (int round = 0; round < 10; ++round) {
    auto first = multiply(counter[0], 0xD2511F53), second = multiply(counter[2], 0xCD9E8D57);
    counter = {mix(second.getHigh(), counter[1], key[0]), second.getLow(),
               mix(first.getHigh(), counter[3], key[1]), first.getLow()};
    key = {add(key[0], 0x9E3779B9), add(key[1], 0xBB67AE85)};
  }
  return counter;
}
