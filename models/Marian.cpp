//===- Marian.cpp - Marian (Junczys-Dowmunt et al. 2018) -----------------===//
#include "models/BartLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildMarian(Import &import) {
  Config &config = import.config;
  BartConfig marian = BartConfig::read(config, {.vocabSize = 58101, .padding = 58100});
  marian.sinusoids = true;
  int64_t target = config.size({"decoder_vocab_size"}, marian.vocabSize, Config::maxVocabulary);
  if (!config.flag({"share_encoder_decoder_embeddings"}, true))
    marian.targetVocab = target;
  buildBartLike(import, marian);
}
