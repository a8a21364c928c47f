//===- Generator.cpp - a program's own text -------------------------------===//
#include "runtime/generate/Generator.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <limits>

namespace transformer::runtime {

Generator::Generator(Program &program, GenerationConfig config, BatchLimits limits,
                     TokenBytes bytes)
    : model(program), processors(config, model.vocabulary()), stopping(config, std::move(bytes)),
      limits(limits) {}

Prompt Generator::makePrompt(std::vector<int64_t> ids) const {
  Prompt prompt;
  prompt.source = std::move(ids);
  if (model.sources().exist())
    prompt.tokens = {processors.config().decoderStart()};
  else
    prompt.tokens = prompt.source;
  return prompt;
}

/// The pages of as many prompts as may be in work at once, as far as there is memory. The cache's
/// memory is taken where it is touched, so that it may have room for the longest sequences.
int64_t Generator::pagesFor(std::span<const Prompt> prompts) const {
  const GenerationConfig &config = processors.config();
  std::vector<int64_t> needs;
  for (size_t i = 0; i < prompts.size(); ++i)
    needs.push_back(Batcher::pagesFor(model, config, prompts[i], int64_t(i)));
  uint64_t available = model.availablePages();
  auto free = int64_t(std::min<uint64_t>(available, std::numeric_limits<int64_t>::max() / 2));
  free += kept ? kept->freePages() : 0;
  for (size_t i = 0; i < needs.size(); ++i)
    if (needs[i] > free) {
      double mebibytes = double(model.pageBytes()) / (1 << 20);
      fail("prompt {}: {} tokens and {} new ones need {:.0f} MiB for keys and values, {:.0f} MiB "
           "are free, enough for {} positions",
           i + 1, prompts[i].tokens.size(),
           maxLengthOf(prompts[i], config, maxPositions()) - int64_t(prompts[i].tokens.size()),
           double(needs[i]) * mebibytes, double(free) * mebibytes, free * model.pagePositions());
    }
  auto together = size_t(std::max<int64_t>(limits.rows / config.rowsPerPrompt(), 1));
  std::sort(needs.rbegin(), needs.rend());
  int64_t pages = 0;
  for (size_t i = 0; i < std::min(together, needs.size()); ++i)
    pages = std::min(free, pages + needs[i]);
  return pages;
}

void Generator::generate(std::span<const Prompt> prompts, Batcher::Events events) {
  if (prompts.empty())
    return;
  BatchLimits all = limits;
  all.pages = pagesFor(prompts);
  if (kept && kept->freePages() < all.pages)
    kept.reset(); // first give back, so that both are never held
  PageCache cache = kept ? std::move(*kept) : model.makeCache(all.pages);
  kept.reset(); // an error leaves pages in use
  Batcher batcher(model, processors, stopping, all, std::move(cache), std::move(events));
  for (const Prompt &prompt : prompts)
    batcher.add(prompt);
  while (batcher.step()) {
  }
  kept = std::move(batcher).releaseCache();
}

std::vector<std::vector<Hypothesis>> Generator::generate(std::span<const Prompt> prompts) {
  std::vector<std::vector<Hypothesis>> results(prompts.size());
  generate(prompts, {.done = [&](int64_t request, std::vector<Hypothesis> found) {
             results[size_t(request)] = std::move(found);
           }});
  return results;
}

} // namespace transformer::runtime
