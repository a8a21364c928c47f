//===- StepModel.cpp - the model that a search asks -----------------------===//
#include "runtime/generate/StepModel.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

const EntryInfo &findStep(const Module &module) {
  if (const EntryInfo *entry = module.description().findEntry("step"))
    return *entry;
  fail("{}: no entry point \"step\": expected a decoder with a language modelling head",
       module.path());
}

int64_t vocabularyOf(const EntryInfo &entry) {
  for (const OutputInfo &output : entry.outputs)
    if (output.name == "logits" && output.shape.size() == 2 && output.shape[1].name.empty())
      return output.shape[1].size;
  fail("entry point \"{}\": expected an output logits [batch, vocabulary]", entry.name);
}

} // namespace

StepModel::StepModel(Program &program)
    : program(program), entry(findStep(program.module())), numTokens(vocabularyOf(entry)) {}

std::optional<int64_t> StepModel::maxPositions() const {
  const InputInfo *places = entry.findInput("position_ids");
  if (!places || !places->range)
    return std::nullopt;
  return places->range->high;
}

int64_t StepModel::pagePositions() const {
  return PageCache::pagePositions(program.module().description(), entry);
}

int64_t StepModel::pageBytes() const {
  int64_t bytes = 0;
  for (size_t index : entry.states) {
    const StateInfo &info = program.module().description().states[index];
    bytes += info.shape[1].size * info.shape[2].size * byteWidth(info.dtype);
  }
  return bytes;
}

PageCache StepModel::makeCache(int64_t numPages) const {
  return PageCache(program.module().description(), entry, numPages);
}

std::span<float> StepModel::step(PageCache &cache, std::span<const Feed> feeds) {
  size_t longest = 0;
  std::vector<int64_t> rows;
  for (const Feed &feed : feeds) {
    longest = std::max(longest, feed.tokens.size());
    rows.push_back(feed.row);
  }
  std::vector<int64_t> shape{int64_t(feeds.size()), int64_t(longest)};
  auto grid = [&] { return Tensor::zeros(DataType::I64, shape); };
  Tensor ids = grid(), mask = grid(), places = grid();
  for (size_t i = 0; i < feeds.size(); ++i) {
    size_t at = i * longest;
    for (size_t j = 0; j < feeds[i].tokens.size(); ++j) {
      ids.data<int64_t>()[at + j] = feeds[i].tokens[j];
      mask.data<int64_t>()[at + j] = 1;
      places.data<int64_t>()[at + j] = cache.length(rows[i]) + int64_t(j);
    }
    cache.extend(rows[i], int64_t(feeds[i].tokens.size()));
  }
  TensorMap inputs;
  inputs.emplace("input_ids", std::move(ids));
  inputs.emplace("attention_mask", std::move(mask));
  if (entry.findInput("position_ids"))
    inputs.emplace("position_ids", std::move(places));
  inputs.emplace("page_table", cache.table(rows));
  inputs.emplace("key_lengths", cache.lengths(rows));
  logits = std::move(program.run(entry.name, std::move(inputs), &cache.state()).at("logits"));
  return {logits.data<float>(), size_t(logits.count())};
}

} // namespace transformer::runtime
