//===- Blenderbot.cpp - Blenderbot (Roller et al. 2021) ------------------===//
#include "models/BartLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildBlenderbot(Import &import) {
  BartConfig blenderbot = BartConfig::read(import.config, {.vocabSize = 8008,
                                                           .width = 2560,
                                                           .positions = 128,
                                                           .encoder = {2, 32, 10240},
                                                           .decoder = {24, 32, 10240},
                                                           .padding = 0});
  blenderbot.normFirst = true;
  buildBartLike(import, blenderbot);
}

void mlir::transformer::buildBlenderbotSmall(Import &import) {
  BartConfig blenderbot = BartConfig::read(import.config, {.width = 512,
                                                           .positions = 512,
                                                           .encoder = {8, 16, 2048},
                                                           .decoder = {8, 16, 2048},
                                                           .padding = 0});
  blenderbot.embeddingNorm = blenderbot.normsWords = true;
  buildBartLike(import, blenderbot);
}
