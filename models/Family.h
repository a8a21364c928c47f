//===- Family.h - what a model family is given ----------------------------===//
#ifndef MODELS_FAMILY_H
#define MODELS_FAMILY_H

#include "models/Builder.h"
#include "models/Checkpoint.h"
#include "models/Config.h"

namespace mlir::transformer {

/// One model to import. A family reads `config`, stops if that is not `ok()`,
/// and builds.
struct Import {
  Config &config;
  const Checkpoint &checkpoint;
  /// The part of the architecture after the family's name: "Model",
  /// "ForMaskedLM", ...; empty for definitions without architectures.
  std::string head;
  ModelBuilder &model;
};

/// Writes `transformer.embedding` from the files of sentence-transformers that
/// stand beside the configuration; without them mean pooling of normalised
/// vectors. `maxLength` is the longest sequence of the model.
void addEmbedding(Import &import, int64_t maxLength);

void buildBert(Import &import);
void buildRoberta(Import &import);
void buildDistilBert(Import &import);
void buildOpenAIGpt(Import &import);
void buildGpt2(Import &import);
void buildLlama(Import &import);
void buildNnTransformer(Import &import);
void buildAnnotatedTransformer(Import &import);
void buildBertPytorch(Import &import);

} // namespace mlir::transformer

#endif // MODELS_FAMILY_H
