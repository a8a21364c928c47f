//===- BenchGeneration.cpp - timing generation ----------------------------===//
#include "runtime/profile/BenchGeneration.h"

#include "runtime/base/Random.h"
#include "runtime/generate/Generator.h"
#include "runtime/profile/Bench.h"

#include <algorithm>
#include <chrono>

namespace transformer::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::shared_ptr<const Tensor> randomFeatures(const InputInfo &info, Random &random) {
  std::vector<int64_t> shape = {1};
  for (size_t i = 1; i < info.shape.size(); ++i)
    shape.push_back(info.shape[i].size);
  auto tensor = std::make_shared<Tensor>(DataType::F32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i)
    tensor->data<float>()[i] = float(random.below(1 << 16)) / float(1 << 15) - 1;
  return tensor;
}

} // namespace

GenerationTimes benchGeneration(Program &program, const GenerationLoad &load, int repeat) {
  GenerationConfig config; // no token ends a sequence
  config.maxNewTokens = *std::max_element(load.newTokens.begin(), load.newTokens.end());
  config.decoderStartTokenId = 0;
  config.numBeams = load.numBeams;
  Generator generator(program, config, load.limits);
  Random random;
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < load.lengths.size(); ++i) {
    std::vector<int64_t> ids;
    for (int64_t j = 0; j < load.lengths[i]; ++j)
      ids.push_back(random.below(generator.promptVocabulary()));
    Prompt prompt = generator.makePrompt(std::move(ids));
    if (const InputInfo *info = generator.features())
      prompt.features = randomFeatures(*info, random);
    prompt.maxNewTokens = load.newTokens[std::min(i, load.newTokens.size() - 1)];
    prompts.push_back(std::move(prompt));
  }
  GenerationTimes times;
  std::vector<double> whole, prefill, decode;
  std::vector<std::vector<double>> first(prompts.size());
  for (int run = -1; run < repeat; ++run) {
    Clock::time_point start = Clock::now();
    std::vector<Clock::time_point> begun(prompts.size(), start);
    int64_t tokens = 0, later = 0; // of all requests, and behind the last prompt
    size_t read = 0;               // prompts
    Clock::time_point allRead = start;
    auto token = [&](int64_t request, int64_t, int64_t) {
      later += read == prompts.size();
      if (begun[size_t(request)] != start)
        return;
      begun[size_t(request)] = allRead = Clock::now();
      ++read;
    };
    auto done = [&](int64_t request, const std::vector<Hypothesis> &found) {
      tokens += int64_t(found[0].tokens.size() - prompts[size_t(request)].tokens.size());
    };
    generator.generate(prompts, {.token = token, .done = done});
    Clock::time_point end = Clock::now();
    times.tokens = tokens;
    if (run < 0)
      continue;
    whole.push_back(milliseconds(end - start));
    if (load.numBeams > 1)
      continue;
    prefill.push_back(milliseconds(allRead - start));
    decode.push_back(later ? double(later) / milliseconds(end - allRead) * 1e3 : 0);
    for (size_t i = 0; i < prompts.size(); ++i)
      first[i].push_back(milliseconds(begun[i] - start));
  }
  times.medianMs = median(whole);
  times.minMs = *std::min_element(whole.begin(), whole.end());
  times.maxMs = *std::max_element(whole.begin(), whole.end());
  if (load.numBeams > 1)
    return times;
  times.prefillMs = median(prefill);
  times.decodeTokensPerSecond = median(decode);
  for (std::vector<double> &each : first)
    times.firstMs.push_back(median(std::move(each)));
  return times;
}

} // namespace transformer::runtime
