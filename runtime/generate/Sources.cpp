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

int64_t Sources::pagesFor(const Prompt &prompt, int64_t number, int64_t pagePositions) const {
  auto length = int64_t(prompt.source.size());
  if (length == 0)
    fail("prompt {}: expected a token for the encoder, found none", number + 1);
  int64_t places = prompt.sourcePositions.empty() ? length : prompt.sourcePositions.back() + 1;
  if (std::optional<int64_t> most = maxPositions(); most && places > *most)
    fail("prompt {}: {} tokens for the encoder: expected at most {} positions", number + 1, places,
         *most);
  return (length + pagePositions - 1) / pagePositions;
}

void Sources::encode(PageCache &cache, std::span<const Prompt *const> prompts,
                     std::span<const int64_t> rows) const {
  std::vector<std::span<const int64_t>> tokens;
  for (size_t i = 0; i < prompts.size(); ++i) {
    tokens.emplace_back(prompts[i]->source);
    cache.extend(rows[i], int64_t(tokens.back().size()));
  }
  TensorMap inputs;
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
