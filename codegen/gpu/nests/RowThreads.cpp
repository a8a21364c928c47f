//===- RowThreads.cpp - threads that share a row --------------------------===//
#include "codegen/gpu/nests/RowThreads.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/TensorCores.h"
#include <limits>

using namespace mlir;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t mostThreads = 512;
constexpr int64_t numbersOfThread = 8; // at least, where there are several warps
constexpr int64_t atOnce = 4;          // loads of a thread on their way
constexpr int64_t mostHeld = 12;       // numbers of a row in a thread's registers

/// Of a row of so many numbers.
int64_t threadsOf(int64_t width) {
  int64_t threads = warpSize;
  while (threads < mostThreads && threads * numbersOfThread < width)
    threads *= 2;
  return threads;
}

} // namespace

Value RowThreads::ofThread(int64_t count, Value none, function_ref<Value(Value)> term,
                           Combine combine) {
  int64_t step = threads * atOnce, whole = count / step;
  auto addTo = [&](Values sums, Value first, int64_t terms) {
    for (int64_t j = 0; j < terms; ++j)
      sums[j] = combine(sums[j], term(b.add(first, j * threads)));
    return sums;
  };
  Values sums(atOnce, none);
  if (whole)
    sums = b.loop(b.index(0), b.index(whole), sums, [&](Value i, ValueRange before) {
      return addTo(Values(before), b.add(thread, b.mul(i, step)), atOnce);
    });
  int64_t rest = count % step;
  sums = addTo(sums, b.add(thread, whole * step), rest / threads);
  if (int64_t first = count - rest % threads; first < count)
    sums.back() = b.ifElse(
        b.less(thread, b.index(count - first)),
        [&] { return Values{combine(sums.back(), term(b.add(thread, first)))}; },
        [&] { return Values{sums.back()}; })[0];
  return combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]));
}

/// Lanes first, then the warps in their order.
Value RowThreads::ofAll(Value ofThread, Combine combine) {
  Value ofWarp = overLanes(b, ofThread, warpSize, combine);
  if (threads == warpSize)
    return ofWarp;
  b.ifThen(b.equal(b.rem(thread, warpSize), b.index(0)),
           [&] { b.store(ofWarp, memory, b.div(thread, warpSize)); });
  barrier(b);
  Value all = b.load(memory, b.index(0));
  for (int64_t warp = 1; warp < threads / warpSize; ++warp)
    all = combine(all, b.load(memory, b.index(warp)));
  barrier(b); // before it is written again
  return all;
}

Value RowThreads::sum(int64_t count, function_ref<Value(Value)> term) {
  if (!thread)
    return b.sum(count, term);
  auto add = [&](Value x, Value y) { return b.addf(x, y); };
  return ofAll(ofThread(count, b.scalar(0), term, add), add);
}

Value RowThreads::max(int64_t count, function_ref<Value(Value)> term) {
  Value lowest = b.scalar(-std::numeric_limits<float>::infinity());
  auto larger = [&](Value x, Value y) { return b.maxf(x, y); };
  if (!thread)
    return b.loop(b.index(0), b.index(count), lowest, [&](Value i, ValueRange before) {
      return Values{larger(before[0], term(i))};
    })[0];
  return ofAll(ofThread(count, lowest, term, larger), larger);
}

void RowThreads::forEach(int64_t count, function_ref<void(Value)> body) {
  if (!thread)
    return b.forEach(b.index(0), b.index(count), body);
  int64_t whole = count / threads;
  if (whole)
    b.forEach(b.index(0), b.index(whole), [&](Value i) { body(b.add(thread, b.mul(i, threads))); });
  if (int64_t rest = count % threads)
    b.ifThen(b.less(thread, b.index(rest)), [&] { body(b.add(thread, whole * threads)); });
}

Value RowThreads::isThere(int64_t count, int64_t turn) {
  int64_t left = count - turn * threads;
  return left < threads ? b.less(thread, b.index(left)) : Value();
}

RowNumbers RowThreads::hold(int64_t count, std::function<Value(Value)> read) {
  RowNumbers numbers{count, std::move(read), {}};
  if (!thread || llvm::divideCeil(count, threads) > mostHeld)
    return numbers;
  for (int64_t turn = 0; turn * threads < count; ++turn) {
    auto readOne = [&] { return Values{numbers.read(b.add(thread, turn * threads))}; };
    Value there = isThere(count, turn);
    numbers.held.push_back(
        (there ? b.ifElse(there, readOne, [&] { return Values{b.scalar(0)}; }) : readOne())[0]);
  }
  return numbers;
}

Value RowThreads::sum(const RowNumbers &numbers, function_ref<Value(Value, Value)> term) {
  if (numbers.held.empty())
    return sum(numbers.count, [&](Value i) { return term(numbers.read(i), i); });
  Value total;
  for (auto [turn, number] : llvm::enumerate(numbers.held)) {
    auto ordinal = static_cast<int64_t>(turn);
    Value one = term(number, b.add(thread, ordinal * threads));
    if (Value there = isThere(numbers.count, ordinal))
      one = b.select(there, one, b.scalar(0));
    total = total ? b.addf(total, one) : one;
  }
  return ofAll(total, [&](Value x, Value y) { return b.addf(x, y); });
}

void RowThreads::forEach(const RowNumbers &numbers, function_ref<void(Value, Value)> body) {
  if (numbers.held.empty())
    return forEach(numbers.count, [&](Value i) { body(numbers.read(i), i); });
  for (auto [turn, number] : llvm::enumerate(numbers.held)) {
    auto ordinal = static_cast<int64_t>(turn);
    auto one = [&, number = number] { body(number, b.add(thread, ordinal * threads)); };
    Value there = isThere(numbers.count, ordinal);
    there ? b.ifThen(there, one) : one();
  }
}

void RowThreads::forEach(const RowNumbers &numbers, ArrayRef<RowNumbers> others,
                         function_ref<void(Value, ValueRange, Value)> body) {
  if (numbers.held.empty())
    return forEach(numbers, [&](Value number, Value i) {
      body(number, llvm::map_to_vector(others, [&](const RowNumbers &o) { return o.read(i); }), i);
    });
  size_t turn = 0;
  forEach(numbers, [&](Value number, Value i) {
    body(number, llvm::map_to_vector(others, [&](const RowNumbers &o) { return o.held[turn]; }), i);
    ++turn;
  });
}

void RowThreads::once(function_ref<void()> body) {
  if (!thread)
    return body();
  b.ifThen(b.equal(thread, b.index(0)), body);
}

void transformer::simt::rows(Loops &b, ValueRange sizes, int64_t width,
                             function_ref<void(ValueRange, RowThreads &)> body) {
  if (!b.target)
    return b.threads(sizes, [&](ValueRange at) {
      RowThreads row(b, 1, Value(), Value());
      body(at, row);
    });
  int64_t threads = threadsOf(width);
  blocks(b, sizes, threads, [&](ValueRange at, Value thread) {
    RowThreads row(b, threads, thread, sharedMemory(b, threads / warpSize, b.getF32Type()));
    body(at, row);
  });
}
