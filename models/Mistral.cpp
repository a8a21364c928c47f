//===- Mistral.cpp - Mistral (Jiang et al. 2023) --------------------------===//
#include "models/LlamaLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildMistral(Import &import) {
  buildLlamaLike(import, LlamaConfig::read(import.config, {.vocabSize = 32000,
                                                           .width = 4096,
                                                           .layers = 32,
                                                           .heads = 32,
                                                           .ffnWidth = 14336,
                                                           .positions = 131072,
                                                           .kvHeads = 8,
                                                           .window = 4096}));
}
