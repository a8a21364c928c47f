//===- StepModel.cpp - the model that a search asks -----------------------===//
#include "runtime/generate/StepModel.h"

#include "runtime/base/Error.h"
#include "runtime/generate/TokenInputs.h"

namespace transformer::runtime {
namespace {

const EntryInfo &findStep(const Module &module) {
  if (const EntryInfo *entry = module.description().findEntry("step"))
    return *entry;
  fail("{}: no entry point \"step\": expected a decoder or an encoder-decoder with a language "
       "modelling head",
       module.path());
}

/// The output logits.
size_t findLogits(const EntryInfo &entry) {
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    if (const OutputInfo &output = entry.outputs[i];
        output.name == "logits" && output.shape.size() == 2 && output.shape[1].name.empty())
      return i;
  fail("entry point \"{}\": expected an output logits [batch, vocabulary]", entry.name);
}

} // namespace

StepModel::StepModel(Program &program)
    : program(program), entry(findStep(program.module())), encoder(program),
      prefix(entry.findInput("decoder_input_ids") ? "decoder_" : ""),
      logitsIndex(findLogits(entry)), numTokens(entry.outputs[logitsIndex].shape[1].size) {}

std::optional<int64_t> StepModel::maxPositions() const {
  const InputInfo *places = entry.findInput(prefix + "position_ids");
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
  std::vector<int64_t> rows, starts, sourceRows;
  std::vector<PageCache::Extension> extensions;
  std::vector<std::span<const int64_t>> tokens;
  for (const Feed &feed : feeds) {
    rows.push_back(feed.row);
    starts.push_back(cache.length(feed.row));
    tokens.push_back(feed.tokens);
    sourceRows.push_back(feed.source);
    extensions.push_back({feed.row, int64_t(feed.tokens.size())});
  }
  cache.extend(extensions);
  TensorMap inputs;
  addTokens(inputs, entry, prefix, tokens, starts);
  inputs.emplace("page_table", cache.table(rows));
  inputs.emplace("key_lengths", cache.lengths(rows));
  if (encoder.exist())
    Sources::addInputs(inputs, cache, sourceRows);
  Call call = program.prepare(entry.name, std::move(inputs), &cache.state());
  call.outputs[logitsIndex].reuse(std::move(logits));
  program.execute(call);
  logits = std::move(call.outputs[logitsIndex]);
  return {logits.data<float>(), size_t(logits.count())};
}

} // namespace transformer::runtime
