//===- Sums.cpp - sums that many threads share ----------------------------===//
#include "codegen/gpu/nests/Sums.h"
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

Value transformer::simt::sumOfAll(Loops &b, Value count, function_ref<Value(Value i)> term,
                                  int64_t most) {
  constexpr int64_t few = 256, many = 1 << 14, each = 64;
  SmallVector<int64_t> threads = {few, 1};
  if (most > few * each)
    threads.insert(threads.begin(), many);
  Value sums;
  for (int64_t parts : threads) {
    Value before = sums, end = before ? b.dim(before, 0) : count;
    sums = b.buffer({parts}, b.getF64Type());
    b.threads(b.index(parts), [&](ValueRange at) {
      Value steps = b.div(b.add(b.sub(b.max(end, at[0]), at[0]), parts - 1), parts);
      Value sum = b.loop(b.index(0), steps, b.real(0), [&](Value step, ValueRange old) {
        Value i = b.add(at[0], b.mul(step, parts));
        return Values{b.addf(old[0], before ? b.load(before, i) : term(i))};
      })[0];
      b.store(sum, sums, at);
    });
  }
  return sums;
}

void transformer::simt::sumOverRows(Loops &b, Value rows, int64_t width, int64_t count,
                                    function_ref<Values(Value row, Value column)> terms,
                                    function_ref<void(ValueRange sums, Value column)> put) {
  constexpr int64_t rowsOfPart = 64;
  Value parts = b.div(b.add(rows, rowsOfPart - 1), rowsOfPart);
  Value buffer = b.buffer({ShapedType::kDynamic, count * width}, b.getF64Type(), parts);
  auto zeros = [&] { return Values(count, b.real(0)); };
  auto placeOf = [&](Value part, Value column, int64_t i) {
    return Values{part, b.add(column, i * width)};
  };
  b.threads({parts, b.index(width)}, [&](ValueRange at) {
    Value first = b.mul(at[0], rowsOfPart), end = b.min(b.add(first, rowsOfPart), rows);
    Values sums = b.loop(first, end, zeros(), [&](Value row, ValueRange before) {
      Values next = terms(row, at[1]);
      for (auto [sum, old] : llvm::zip_equal(next, before))
        sum = b.addf(old, sum);
      return next;
    });
    for (auto [i, sum] : llvm::enumerate(sums))
      b.store(sum, buffer, placeOf(at[0], at[1], i));
  });
  b.threads(b.index(width), [&](ValueRange at) {
    Values sums = b.loop(b.index(0), parts, zeros(), [&](Value part, ValueRange before) {
      Values next(before);
      for (auto [i, sum] : llvm::enumerate(next))
        sum = b.addf(sum, b.load(buffer, placeOf(part, at[0], i)));
      return next;
    });
    put(sums, at[0]);
  });
}

/// In f64: the gradient of a key's bias is 0 but for rounding, which AdamW makes steps of.
void transformer::simt::emitKernel(Loops &b, kernel::SumRowsOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  sumOverRows(
      b, b.dim(x, 0), rowWidth(x), 1,
      [&](Value row, Value column) { return Values{b.widen(b.load(x, {row, column}))}; },
      [&](ValueRange sums, Value column) { b.store(b.narrow(sums[0]), result, column); });
}

void transformer::simt::emitKernel(Loops &b, kernel::SumSquaresOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  auto type = cast<MemRefType>(x.getType());
  Value sum = sumOfAll(
      b, b.index(type.getNumElements()),
      [&](Value i) {
        Values at = {b.div(i, rowWidth(x)), b.rem(i, rowWidth(x))};
        Value v = b.widen(b.load(x, ArrayRef(at).take_back(type.getRank())));
        return b.mulf(v, v);
      },
      type.getNumElements());
  b.once([&] { b.store(b.narrow(b.load(sum, b.index(0))), result, {}); });
}
