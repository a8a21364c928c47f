//===- Sources.cpp - what rows attend to beside their past ----------------===//
#include "runtime/generate/Sources.h"

#include "runtime/base/Error.h"
#include "runtime/generate/TokenInputs.h"

#include <algorithm>

namespace transformer::runtime {

/// Behind the last value that an input may have.
std::optional<int64_t> Sources::endOf(const char *input) const {
  const InputInfo *info = entry ? entry->findInput(input) : nullptr;
  if (!info || !info->range)
    return std::nullopt;
  return info->range->high;
}

const InputInfo *Sources::features(const Module &module) {
  const EntryInfo *entry = module.description().findEntry("encode");
  if (!entry)
    return nullptr;
  auto found = std::find_if(entry->inputs.begin(), entry->inputs.end(),
                            [](const InputInfo &input) { return isFloat(input.dtype); });
  return found == entry->inputs.end() ? nullptr : &*found;
}

std::optional<int64_t> Sources::padding(const Module &module) {
  const EntryInfo *entry = module.description().findEntry("encode");
  const InputInfo *mask = entry ? entry->findInput("attention_mask") : nullptr;
  if (!mask || !mask->defaultValue || mask->defaultValue->kind != DefaultInfo::NotEqual)
    return std::nullopt;
  return mask->defaultValue->value;
}

/// Features are so many positions as `key_lengths` may say, one number.
int64_t Sources::lengthOf(const Prompt &prompt) const {
  return prompt.features ? endOf("key_lengths").value_or(1) - 1 : int64_t(prompt.source.size());
}

int64_t Sources::pagesFor(const Prompt &prompt, int64_t number, int64_t pagePositions) const {
  if (const InputInfo *input = features(); input && !prompt.features)
    fail("prompt {}: expected {} for the encoder (--inputs), found tokens", number + 1,
         input->name);
  int64_t length = lengthOf(prompt);
  if (length == 0)
    fail("prompt {}: expected a token for the encoder, found none", number + 1);
  int64_t places = prompt.sourcePositions.empty() ? length : prompt.sourcePositions.back() + 1;
  if (std::optional<int64_t> most = maxPositions(); most && places > *most)
    fail("prompt {}: {} tokens for the encoder: expected at most {} positions", number + 1, places,
         *most);
  return (length + pagePositions - 1) / pagePositions;
}

void Sources::addFeatures(TensorMap &inputs, std::span<const Prompt *const> prompts) const {
  const Tensor &first = *prompts.front()->features;
  std::vector<int64_t> shape = first.shape();
  shape.front() = int64_t(prompts.size());
  Tensor all(first.dtype(), shape);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Tensor &row = *prompts[i]->features;
    std::copy_n(row.data<char>(), row.bytes(), all.data<char>() + int64_t(i) * row.bytes());
  }
  inputs.emplace(features()->name, std::move(all));
}

void Sources::encode(PageCache &cache, std::span<const Prompt *const> prompts,
                     std::span<const int64_t> rows) const {
  std::vector<std::span<const int64_t>> tokens;
  for (size_t i = 0; i < prompts.size(); ++i) {
    tokens.emplace_back(prompts[i]->source);
    cache.extend(rows[i], lengthOf(*prompts[i]));
  }
  TensorMap inputs;
  if (features())
    addFeatures(inputs, prompts);
  else
    addTokens(inputs, *entry, "", tokens, std::vector<int64_t>(prompts.size(), 0));
  if (auto places = inputs.find("position_ids"); places != inputs.end())
    for (size_t i = 0; i < prompts.size(); ++i)
      std::copy(prompts[i]->sourcePositions.begin(), prompts[i]->sourcePositions.end(),
                places->second.data<int64_t>() + int64_t(i) * places->second.shape()[1]);
  inputs.emplace("page_table", cache.table(rows));
  inputs.emplace("key_lengths", cache.lengths(rows));
  program.run(entry->name, std::move(inputs), &cache.state());
}

void Sources::addInputs(TensorMap &inputs, const PageCache &cache, std::span<const int64_t> rows) {
  inputs.emplace("source_page_table", cache.table(rows));
  inputs.emplace("source_lengths", cache.lengths(rows));
}

} // namespace transformer::runtime
