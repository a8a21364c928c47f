//===- Pegasus.cpp - PEGASUS (Zhang et al. 2020) -------------------------===//
#include "models/BartLike.h"

using namespace mlir::transformer;

void mlir::transformer::buildPegasus(Import &import) {
  BartConfig pegasus = BartConfig::read(import.config, {.padding = 0});
  pegasus.normFirst = pegasus.sinusoids = true;
  buildBartLike(import, pegasus);
}
