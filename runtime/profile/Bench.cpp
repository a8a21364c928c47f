//===- Bench.cpp - timing an entry point ----------------------------------===//
#include "runtime/profile/Bench.h"

#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace transformer::runtime {
namespace {

constexpr int warmUps = 2;

/// Numbers of unmasked tokens in each row of a mask input.
std::vector<int64_t> rowCounts(const Call &call, const InputInfo &input) {
  const Tensor &mask = call.inputs[static_cast<size_t>(&input - call.entry->inputs.data())];
  int64_t columns = mask.rank() == 0 ? 1 : mask.shape().back();
  std::vector<int64_t> counts(static_cast<size_t>(mask.count() / columns));
  for (int64_t i = 0; i < mask.count(); ++i)
    counts[static_cast<size_t>(i / columns)] += mask.data<int64_t>()[i] != 0;
  return counts;
}

int64_t sum(const std::vector<int64_t> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(0));
}

/// F32, which is converted like what a user gives.
Tensor randomFloats(std::vector<int64_t> shape, Random &random) {
  Tensor tensor(DataType::F32, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = random.symmetric();
  return tensor;
}

/// I64, converted as well. Of a matrix each row has the length of its own.
Tensor randomIntegers(const InputInfo &input, std::vector<int64_t> shape,
                      const std::vector<int64_t> &lengths, Random &random) {
  bool mask = input.isMask();
  bool fixed = input.shape.size() != 2 || input.shape[1].name.empty();
  // What is bounded by a size that is not known here is 0.
  ValueRange range = input.range.value_or(ValueRange{0, input.below.empty() ? 2 : 1});
  Tensor tensor(DataType::I64, std::move(shape));
  int64_t columns = tensor.rank() == 2 ? tensor.shape()[1] : 1;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    auto row = static_cast<size_t>(i / columns);
    bool real = fixed || row >= lengths.size() || i % columns < lengths[row];
    bool draws = real && !mask && range.high > range.low;
    int64_t drawn = draws ? random.below(range.high - range.low) : 0;
    int64_t padding = input.ignored.value_or(range.low);
    tensor.data<int64_t>()[i] = mask ? real : real ? range.low + drawn : padding;
  }
  return tensor;
}

} // namespace

TensorMap randomInputs(const EntryInfo &entry, const std::vector<int64_t> &lengths) {
  ProfileScope scope("random inputs");
  Random random;
  TensorMap inputs;
  auto rows = static_cast<int64_t>(lengths.size());
  int64_t columns = *std::max_element(lengths.begin(), lengths.end());
  for (const InputInfo &input : entry.inputs) {
    if (input.defaultValue && !input.isMask())
      continue;
    std::vector<int64_t> shape;
    for (size_t d = 0; d < input.shape.size(); ++d)
      shape.push_back(input.shape[d].name.empty() ? input.shape[d].size : d == 0 ? rows : columns);
    inputs[input.name] = isFloat(input.dtype)
                             ? randomFloats(std::move(shape), random)
                             : randomIntegers(input, std::move(shape), lengths, random);
  }
  return inputs;
}

int64_t countTokens(const Call &call) {
  if (const InputInfo *mask = call.entry->firstMask())
    return sum(rowCounts(call, *mask));
  return call.inputs.empty() ? 0 : call.inputs[0].count();
}

double countFlops(const Call &call) {
  const FlopsInfo &flops = call.entry->flops;
  double total = 0;
  for (const auto &[name, perToken] : flops.perTokenOf)
    total += perToken * double(sum(rowCounts(call, *call.entry->findInput(name))));
  if (flops.perTokenOf.empty())
    total = flops.perToken * double(countTokens(call));
  for (const auto &[name, perSequence] : flops.perSequenceOf)
    total += perSequence * double(rowCounts(call, *call.entry->findInput(name)).size());
  for (const AttentionFlops &attention : flops.attention) {
    std::vector<int64_t> queries = rowCounts(call, *call.entry->findInput(attention.queries));
    std::vector<int64_t> keys = rowCounts(call, *call.entry->findInput(attention.keys));
    for (size_t row = 0; row < std::min(queries.size(), keys.size()); ++row) {
      double pairs = double(queries[row]) * double(keys[row]);
      if (attention.causal) // the last query sees all keys, each one before it one less
        pairs -= double(queries[row]) * double(queries[row] - 1) / 2;
      total += attention.perPair * pairs;
    }
  }
  return total;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

BenchResult bench(Program &program, Call &call, int repeat) {
  for (int i = 0; i < warmUps; ++i)
    program.execute(call);
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    program.execute(call);
    auto time = std::chrono::steady_clock::now() - start;
    times.push_back(std::chrono::duration<double, std::milli>(time).count());
  }
  auto [least, most] = std::minmax_element(times.begin(), times.end());
  double middle = median(times), flops = countFlops(call);
  return {middle, *least, *most, countTokens(call), flops, middle > 0 ? flops / (middle * 1e6) : 0};
}

} // namespace transformer::runtime
