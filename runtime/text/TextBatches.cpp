//===- TextBatches.cpp - texts through an encoder -------------------------===//
#include "runtime/text/TextBatches.h"

#include <algorithm>
#include <numeric>

namespace transformer::runtime {
namespace {

constexpr size_t batchSize = 32;

TensorMap batchOf(const EntryInfo &entry, const std::vector<Encoding> &texts, int64_t padId,
                  std::span<const size_t> chosen) {
  auto rows = static_cast<int64_t>(chosen.size());
  auto columns = static_cast<int64_t>(texts[chosen[0]].ids.size());
  Tensor ids(DataType::I64, {rows, columns}), mask(DataType::I64, {rows, columns}),
      types(DataType::I64, {rows, columns});
  for (int64_t row = 0; row < rows; ++row) {
    const Encoding &text = texts[chosen[static_cast<size_t>(row)]];
    for (int64_t column = 0; column < columns; ++column) {
      int64_t at = row * columns + column;
      auto from = static_cast<size_t>(column);
      bool real = from < text.ids.size();
      ids.data<int64_t>()[at] = real ? text.ids[from] : padId;
      types.data<int64_t>()[at] = real ? text.types[from] : 0;
      mask.data<int64_t>()[at] = real;
    }
  }
  TensorMap inputs;
  inputs["input_ids"] = std::move(ids);
  if (entry.findInput("attention_mask"))
    inputs["attention_mask"] = std::move(mask);
  if (entry.findInput("token_type_ids"))
    inputs["token_type_ids"] = std::move(types);
  return inputs;
}

} // namespace

void runInBatches(Program &program, const EntryInfo &entry, const std::vector<Encoding> &texts,
                  int64_t padId,
                  const std::function<void(const Call &call, std::span<const size_t> rows)> &use) {
  // The longest first, so that the arena grows once.
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].ids.size() > texts[b].ids.size(); });
  for (size_t start = 0; start < order.size(); start += batchSize) {
    std::span<const size_t> rows(&order[start], std::min(batchSize, order.size() - start));
    Call call = program.prepare(entry.name, batchOf(entry, texts, padId, rows));
    program.execute(call);
    use(call, rows);
  }
}

} // namespace transformer::runtime
