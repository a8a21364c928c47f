//===- Phi3.cpp - Phi-3 (Abdin et al. 2024) -------------------------------===//
#include "models/LlamaLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildPhi3(Import &import) {
  Config &config = import.config;
  LlamaConfig phi = LlamaConfig::read(config, {.vocabSize = 32064,
                                               .width = 3072,
                                               .layers = 32,
                                               .heads = 32,
                                               .ffnWidth = 8192,
                                               .positions = 4096,
                                               .eps = 1e-5,
                                               .padding = 32000,
                                               .rope = {.partialKey = "partial_rotary_factor",
                                                        .trainedLength = 4096,
                                                        .scalesByLongRope = true}});
  phi.merged = true;
  phi.dropout.hidden = config.rate({"resid_pdrop"}, 0);
  if (config.has({"sliding_window"}))
    phi.windows.assign(phi.layers, config.size({"sliding_window"}, 1, Config::maxPositions));
  buildLlamaLike(import, phi);
}
