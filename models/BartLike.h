//===- BartLike.h - what BART and the families after it share -------------===//
#ifndef MODELS_BARTLIKE_H
#define MODELS_BARTLIKE_H

#include "models/EncoderDecoder.h"

namespace mlir::transformer {

/// An encoder and a decoder over one vocabulary, with positions added to the
/// embeddings.
struct BartConfig {
  /// Sizes of the encoder or the decoder.
  struct Stack {
    int64_t layers, heads, ffnWidth;
  };
  int64_t vocabSize, width, positions;
  Stack encoder, decoder;
  ActivationKind activation;
  double deviation, embeddingScale;
  std::optional<int64_t> padding; // the row of words that is not trained
  Norm norm = {1e-5};
  DropoutRates dropout;

  // What the families differ in.
  int64_t targetVocab = 0;    // of a decoder with an embedding of its own; 0: shared
  bool normFirst = false;     // norms before the sublayers, and one behind the last layer
  bool embeddingNorm = false; // of the sum of embeddings
  bool normsWords = false;    // in the decoder of the words alone
  bool sinusoids = false;     // else learned positions, behind `offset` rows for padding
  int64_t offset = 0;

  /// Values of fields that are not there.
  struct Defaults {
    int64_t vocabSize = 50265, width = 1024, positions = 1024;
    Stack encoder = {12, 16, 4096}, decoder = {12, 16, 4096};
    int64_t padding = 1;
  };
  static BartConfig read(Config &config, const Defaults &defaults);
};

/// The model; with any head but "Model" the logits of `lm_head`, which is the
/// embedding, with `final_logits_bias`.
void buildBartLike(Import &import, const BartConfig &config);

} // namespace mlir::transformer

#endif // MODELS_BARTLIKE_H
