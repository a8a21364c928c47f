//===- Gemma.cpp - Gemma (Mesnard et al. 2024) ----------------------------===//
#include "models/LlamaLike.h"
#include <cmath>

using namespace mlir::transformer;

void mlir::transformer::buildGemma(Import &import) {
  Config &config = import.config;
  LlamaConfig gemma = LlamaConfig::read(config, {.vocabSize = 256000,
                                                 .width = 3072,
                                                 .layers = 28,
                                                 .heads = 16,
                                                 .ffnWidth = 24576,
                                                 .positions = 8192,
                                                 .kvHeads = 16,
                                                 .headDim = 256,
                                                 .activation = "gelu_pytorch_tanh",
                                                 .tied = true,
                                                 .padding = 0});
  // The releases say "gelu" and mean this one; `hidden_activation` is an older name.
  Keys keys = {"hidden_activation", "hidden_act"};
  gemma.activation = config.text(keys, "") == "gelu" ? ActivationKind::GeluTanh
                                                     : config.activation(keys, "gelu_pytorch_tanh");
  gemma.qkvBias = gemma.outBias = config.flag({"attention_bias"}, false);
  config.refuseFlag("use_bidirectional_attention");
  gemma.norm.lessOne = true;
  gemma.embeddingScale = std::sqrt(double(gemma.width));
  buildLlamaLike(import, gemma);
}
