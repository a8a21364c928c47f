//===- Sums.cpp - sums that many threads share ----------------------------===//
#include "codegen/gpu/nests/Sums.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "codegen/gpu/nests/TensorCores.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t blockThreads = 256;
constexpr int64_t mostBlocks = 128;
constexpr int64_t termsOfThread = 8; // at least, where there are several blocks

/// What a block's threads have, in one of them.
void addThreads(Loops &b, Value memory, Value thread, Value sum) {
  b.store(sum, memory, thread);
  barrier(b);
  for (int64_t apart = blockThreads / 2; apart; apart /= 2) {
    b.ifThen(b.less(thread, b.index(apart)), [&] {
      Value other = b.load(memory, b.add(thread, apart));
      b.store(b.addf(b.load(memory, thread), other), memory, thread);
    });
    barrier(b);
  }
}

/// One place after the other from `first` up to `end`, `apart` from each other.
Values loopApart(Loops &b, Value first, Value end, int64_t apart, ValueRange values,
                 function_ref<Values(Value i, ValueRange values)> body) {
  Value turns = b.div(b.add(b.sub(b.max(end, first), first), apart - 1), apart);
  return b.loop(b.index(0), turns, values, [&](Value turn, ValueRange before) {
    return body(b.add(first, b.mul(turn, apart)), before);
  });
}

/// A block's threads, or the one thread where nothing is known of blocks, add `term`s from `first`
/// on, `apart` from each other; `put` gets the sum once.
void sumOfBlock(Loops &b, Value thread, Value first, Value count, int64_t apart,
                function_ref<Value(Value i)> term, function_ref<void(Value sum)> put) {
  Value sum = loopApart(b, first, count, apart, b.real(0), [&](Value i, ValueRange before) {
    return Values{b.addf(before[0], term(i))};
  })[0];
  if (!thread)
    return put(sum);
  Value memory = sharedMemory(b, blockThreads, b.getF64Type());
  addThreads(b, memory, thread, sum);
  b.ifThen(b.equal(thread, b.index(0)), [&] { put(b.load(memory, b.index(0))); });
}

} // namespace

void transformer::simt::sumOfAll(Loops &b, Value count, function_ref<Value(Value i)> term,
                                 int64_t most, function_ref<void(Value sum)> put) {
  int64_t parts = std::clamp<int64_t>(most / (blockThreads * termsOfThread), 1, mostBlocks);
  auto addParts = [&](Value terms, int64_t blocksOfSum, function_ref<Value(Value i)> each,
                      function_ref<void(Value part, Value sum)> store) {
    if (!b.target)
      return b.threads(b.index(blocksOfSum), [&](ValueRange at) {
        sumOfBlock(b, Value(), at[0], terms, blocksOfSum, each,
                   [&](Value sum) { store(at[0], sum); });
      });
    blocks(b, b.index(blocksOfSum), blockThreads, [&](ValueRange at, Value thread) {
      Value first = b.add(b.mul(at[0], blockThreads), thread);
      sumOfBlock(b, thread, first, terms, blocksOfSum * blockThreads, each,
                 [&](Value sum) { store(at[0], sum); });
    });
  };
  auto putWhole = [&](Value, Value sum) { put(sum); };
  if (parts == 1)
    return addParts(count, 1, term, putWhole);
  Value sums = b.buffer({parts}, b.getF64Type());
  addParts(count, parts, term, [&](Value part, Value sum) { b.store(sum, sums, part); });
  addParts(b.index(parts), 1, [&](Value i) { return b.load(sums, i); }, putWhole);
}

Value transformer::simt::sumOfAll(Loops &b, Value count, function_ref<Value(Value i)> term,
                                  int64_t most) {
  Value result = b.buffer({1}, b.getF64Type());
  sumOfAll(b, count, term, most, [&](Value sum) { b.store(sum, result, b.index(0)); });
  return result;
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
  // Of every so many parts.
  auto sumOfParts = [&](Value first, int64_t apart, Value column) {
    return loopApart(b, first, parts, apart, zeros(), [&](Value part, ValueRange before) {
      Values next(before);
      for (auto [i, sum] : llvm::enumerate(next))
        sum = b.addf(sum, b.load(buffer, placeOf(part, column, static_cast<int64_t>(i))));
      return next;
    });
  };
  if (!b.target)
    return b.threads(b.index(width),
                     [&](ValueRange at) { put(sumOfParts(b.index(0), 1, at[0]), at[0]); });
  // Warps have some columns together, each some of their parts.
  constexpr int64_t warps = blockThreads / warpSize;
  blocks(b, b.index(llvm::divideCeil(width, warpSize)), blockThreads,
         [&](ValueRange at, Value thread) {
           Value memory = sharedMemory(b, {count, warps, warpSize}, b.getF64Type());
           Value warp = b.div(thread, warpSize), lane = b.rem(thread, warpSize);
           Value column = b.add(b.mul(at[0], warpSize), lane),
                 isThere = b.less(column, b.index(width));
           Values sums = b.ifElse(isThere, [&] { return sumOfParts(warp, warps, column); }, zeros);
           for (int64_t i = 0; i < count; ++i)
             b.store(sums[static_cast<size_t>(i)], memory, {b.index(i), warp, lane});
           barrier(b);
           b.ifThen(b.both(isThere, b.equal(warp, b.index(0))), [&] {
             for (int64_t other = 1; other < warps; ++other)
               for (int64_t i = 0; i < count; ++i) {
                 Value &sum = sums[static_cast<size_t>(i)];
                 sum = b.addf(sum, b.load(memory, {b.index(i), b.index(other), lane}));
               }
             put(sums, column);
           });
         });
}

/// In f64: the gradient of a key's bias is 0 but for rounding, which AdamW makes steps of.
void transformer::simt::emitKernel(Loops &b, kernel::SumRowsOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  sumOverRows(
      b, b.dim(x, 0), rowWidth(x), 1,
      [&](Value row, Value column) {
        Value v = b.load(x, {row, column});
        if (kernel::isHalf(v.getType()))
          v = arith::ExtFOp::create(b, b.getF32Type(), v);
        return Values{b.widen(v)};
      },
      [&](ValueRange sums, Value column) { b.store(b.narrow(sums[0]), result, column); });
}

void transformer::simt::emitKernel(Loops &b, kernel::SumSquaresOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  auto type = cast<MemRefType>(x.getType());
  int64_t width = rowWidth(x), neighbours = b.target ? alignedNumbers(x, 4) : 1;
  auto squares = [&](Value i) {
    Value first = b.mul(i, neighbours), sum;
    Values at = {b.div(first, width), b.rem(first, width)};
    at.erase(at.begin(), at.end() - type.getRank());
    for (Value number : loadVector(b, x, at, neighbours)) {
      Value v = b.widen(number), square = b.mulf(v, v);
      sum = sum ? b.addf(sum, square) : square;
    }
    return sum;
  };
  int64_t terms = type.getNumElements() / neighbours;
  sumOfAll(b, b.index(terms), squares, terms,
           [&](Value sum) { b.store(b.narrow(sum), result, {}); });
}
