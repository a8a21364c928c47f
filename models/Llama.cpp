//===- Llama.cpp - Llama (Touvron et al. 2023) ----------------------------===//
#include "models/LlamaLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildLlama(Import &import) {
  Config &config = import.config;
  LlamaConfig llama = LlamaConfig::read(config, {.vocabSize = 32000,
                                                 .width = 4096,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .ffnWidth = 11008,
                                                 .positions = 2048});
  llama.qkvBias = llama.outBias = config.flag({"attention_bias"}, false);
  llama.ffnBias = config.flag({"mlp_bias"}, false);
  buildLlamaLike(import, llama);
}
