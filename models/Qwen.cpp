//===- Qwen.cpp - Qwen2 and Qwen3 (Qwen team 2024, 2025) ------------------===//
#include "models/LlamaLike.h"

using namespace mlir;
using namespace mlir::transformer;

/// Which layers have a window: `layer_types` says so, or those from
/// `max_window_layers` on have it.
static void readWindows(Config &config, LlamaConfig &qwen) {
  bool used = config.flag({"use_sliding_window"}, false) && !config.isNull("sliding_window");
  int64_t window = config.size({"sliding_window"}, 4096, Config::maxPositions);
  int64_t first = config.integer({"max_window_layers"}, 28, 0, Config::maxLayers + 1);
  auto types = config.texts("layer_types");
  if (types && static_cast<int64_t>(types->size()) != qwen.layers)
    config.fail("layer_types", "one for each of " + Twine(qwen.layers) + " layers",
                Twine(types->size()));
  if (!config.ok())
    return;
  for (auto [i, of] : llvm::enumerate(qwen.windows)) {
    bool slides = types ? (*types)[i] == "sliding_attention" : static_cast<int64_t>(i) >= first;
    if (types && !slides && (*types)[i] != "full_attention")
      config.failText("layer_types", "full_attention or sliding_attention", (*types)[i]);
    of = used && slides ? window : 0;
  }
}

static LlamaConfig readConfig(Config &config, LlamaConfig::Defaults defaults) {
  LlamaConfig result = LlamaConfig::read(config, defaults);
  readWindows(config, result);
  return result;
}

static constexpr LlamaConfig::Defaults defaults = {.vocabSize = 151936,
                                                   .width = 4096,
                                                   .layers = 32,
                                                   .heads = 32,
                                                   .ffnWidth = 22016,
                                                   .positions = 32768,
                                                   .kvHeads = 32};

void transformer::buildQwen2(Import &import) {
  LlamaConfig qwen = readConfig(import.config, defaults);
  qwen.qkvBias = true;
  buildLlamaLike(import, qwen);
}

void transformer::buildQwen3(Import &import) {
  LlamaConfig::Defaults ofHeads = defaults;
  ofHeads.headDim = 128;
  LlamaConfig qwen = readConfig(import.config, ofHeads);
  qwen.qkvBias = qwen.outBias = import.config.flag({"attention_bias"}, false);
  qwen.headNorms = true;
  buildLlamaLike(import, qwen);
}
