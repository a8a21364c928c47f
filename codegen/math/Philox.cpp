//===- Philox.cpp - random numbers of a counter ---------------------------===//
#include "codegen/math/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::transformer;

std::array<Value, 4> mlir::transformer::emitPhilox(ImplicitLocOpBuilder &b,
                                                   std::array<Value, 2> key,
                                                   std::array<Value, 4> counter) {
  Type type = counter[0].getType();
  bool inHalves = getElementTypeOrSelf(type).isInteger(64);
  auto constant = [&](uint32_t value) -> Value {
    return createScalarOrSplatConstant(b, b.getLoc(), type, int64_t(value));
  };
  auto multiply = [&](Value x, uint32_t by) -> std::pair<Value, Value> { // low and high
    if (!inHalves) {
      auto product = arith::MulUIExtendedOp::create(b, TypeRange{type, type}, x, constant(by));
      return {product.getLow(), product.getHigh()};
    }
    x = arith::AndIOp::create(b, x, constant(UINT32_MAX));
    Value product = arith::MulIOp::create(b, x, constant(by));
    return {product, arith::ShRUIOp::create(b, product, constant(32))};
  };
  auto mix = [&](Value x, Value y, Value z) -> Value {
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, x, y), z);
  };
  auto add = [&](Value x, uint32_t y) -> Value { return arith::AddIOp::create(b, x, constant(y)); };
  for (int round = 0; round < 10; ++round) {
    auto [firstLow, firstHigh] = multiply(counter[0], 0xD2511F53);
    auto [secondLow, secondHigh] = multiply(counter[2], 0xCD9E8D57);
    counter = {mix(secondHigh, counter[1], key[0]), secondLow, mix(firstHigh, counter[3], key[1]),
               firstLow};
    key = {add(key[0], 0x9E3779B9), add(key[1], 0xBB67AE85)};
  }
  return counter;
}
