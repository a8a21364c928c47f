//===- TileProducts.cpp - a register tile of sums of products -------------===//
#include "codegen/cpu/nests/TileProducts.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

Values transformer::addProducts(Emit &b, Value begin, Value end, Values sums,
                                function_ref<Value(Value u, int64_t i)> factor,
                                function_ref<Value(Value u, int64_t j)> vector) {
  int64_t rows = b.target.tileRows(), vectors = b.target.tileVectors();
  return b.unrolledLoop(begin, end, sums, [&](Value u, Values &s) {
    Values row;
    for (int64_t j = 0; j < vectors; ++j)
      row.push_back(vector(u, j));
    for (int64_t i = 0; i < rows; ++i) {
      Value x = b.broadcast(factor(u, i));
      for (int64_t j = 0; j < vectors; ++j)
        s[i * vectors + j] = emitFma(b, x, row[j], s[i * vectors + j]);
    }
  });
}
