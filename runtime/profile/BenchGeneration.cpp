//===- BenchGeneration.cpp - timing generation ----------------------------===//
#include "runtime/profile/BenchGeneration.h"

#include "runtime/base/Random.h"
#include "runtime/generate/Generator.h"

#include <algorithm>
#include <chrono>

namespace transformer::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

} // namespace

GenerationTimes benchGeneration(Program &program, const std::vector<int64_t> &lengths,
                                int64_t newTokens, int repeat) {
  GenerationConfig config; // no token ends a sequence
  config.maxNewTokens = newTokens;
  Generator generator(program, config);
  Random random;
  std::vector<Prompt> prompts;
  for (int64_t length : lengths) {
    Prompt prompt;
    for (int64_t i = 0; i < length; ++i)
      prompt.source.push_back(random.below(generator.sourceVocabulary()));
    prompt.tokens =
        Generator::hasSource(program.module()) ? std::vector<int64_t>{0} : prompt.source;
    prompts.push_back(std::move(prompt));
  }
  std::vector<double> whole, prefill, decode;
  for (int run = -1; run < repeat; ++run) {
    Clock::time_point start = Clock::now(), first = start;
    generator.generate(prompts, [&](int64_t, int64_t, int64_t) {
      if (first == start)
        first = Clock::now();
    });
    Clock::time_point end = Clock::now();
    if (run < 0)
      continue;
    whole.push_back(milliseconds(end - start));
    prefill.push_back(milliseconds(first - start));
    decode.push_back(milliseconds(end - first));
  }
  auto rows = int64_t(lengths.size());
  return {.prefillMs = median(prefill),
          .decodeTokensPerSecond = double(rows * (newTokens - 1)) / median(decode) * 1e3,
          .medianMs = median(whole),
          .minMs = *std::min_element(whole.begin(), whole.end()),
          .maxMs = *std::max_element(whole.begin(), whole.end()),
          .tokens = rows * newTokens};
}

} // namespace transformer::runtime
