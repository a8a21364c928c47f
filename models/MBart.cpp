//===- MBart.cpp - mBART (Liu et al. 2020) -------------------------------===//
#include "models/BartLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildMBart(Import &import) {
  BartConfig mbart = BartConfig::read(import.config, {});
  mbart.normFirst = mbart.embeddingNorm = true;
  mbart.offset = 2;
  buildBartLike(import, mbart);
}
