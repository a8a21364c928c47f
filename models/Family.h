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

/// Says what the model of a Hugging Face head is trained for, where that is supported; families
/// themselves say what their pretraining is.
void setObjective(Import &import);

/// Says by which field transformers drops what no op here does while it trains: whole layers
/// ("LayerDrop", Fan et al. 2020), spans of sound (SpecAugment, Park et al. 2019).
void noteOtherDropping(Import &import);

void buildBert(Import &import);
void buildElectra(Import &import);
void buildAlbert(Import &import);
void buildRoberta(Import &import);
void buildDistilBert(Import &import);
void buildDebertaV2(Import &import);
void buildVit(Import &import);
void buildOpenAIGpt(Import &import);
void buildGpt2(Import &import);
void buildLlama(Import &import);
void buildMistral(Import &import);
void buildQwen2(Import &import);
void buildQwen3(Import &import);
void buildPhi3(Import &import);
void buildGemma(Import &import);
void buildGptNeoX(Import &import);
void buildGptJ(Import &import);
void buildOpt(Import &import);
void buildBloom(Import &import);
void buildBart(Import &import);
void buildT5(Import &import);
void buildWhisper(Import &import);
void buildMBart(Import &import);
void buildMarian(Import &import);
void buildPegasus(Import &import);
void buildBlenderbot(Import &import);
void buildBlenderbotSmall(Import &import);
void buildNnTransformer(Import &import);
void buildAnnotatedTransformer(Import &import);
void buildBertPytorch(Import &import);

} // namespace mlir::transformer

#endif // MODELS_FAMILY_H
