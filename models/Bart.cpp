//===- Bart.cpp - BART (Lewis et al. 2020) -------------------------------===//
#include "models/BartLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildBart(Import &import) {
  BartConfig bart = BartConfig::read(import.config, {});
  bart.embeddingNorm = true;
  bart.offset = 2;
  buildBartLike(import, bart);
}
