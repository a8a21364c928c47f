//===- BertLike.h - the encoder that BERT and RoBERTa share ---------------===//
#ifndef MODELS_BERTLIKE_H
#define MODELS_BERTLIKE_H

#include "models/Family.h"

namespace mlir::transformer {

/// The fields of a BERT-like configuration.
struct BertConfig {
  int64_t vocabSize, embeddingWidth, width, layers, heads, ffnWidth, positions, types;
  ActivationKind activation;
  Norm norm;
  InitScheme init;
  bool tied;
  std::optional<int64_t> padding,
      positionPadding; // rows of words and positions that are not trained
  DropoutRates dropout;

  /// Values of fields that are not there.
  struct Defaults {
    int64_t vocabSize = 30522, width = 768, layers = 12, heads = 12, ffnWidth = 3072, types = 2;
    int64_t embeddingWidth = 0; // 0: `embedding_size` is no field, the width counts
    llvm::StringRef activation = "gelu";
    double dropout = 0.1;
  };
  static BertConfig read(Config &config, const Defaults &defaults);
};

/// The number of labels that the head gives; question answering takes two, a
/// start and an end.
int64_t readLabels(Import &import);

/// A built encoder.
struct BertEncoder {
  Value hidden, sequences;
};

/// How long sequences may be, and the positions of a missing `position_ids`.
struct BertPositions {
  int64_t maxLength;
  DefaultAttr missing;
};

/// Normalised sums of embeddings, their names behind `base` ("bert." or nothing).
BertEncoder buildBertEmbeddings(ModelBuilder &model, const BertConfig &config, llvm::StringRef base,
                                const BertPositions &positions);

/// Embeddings and layers. Embeddings of another width go through
/// `embeddings_project`.
BertEncoder buildBertEncoder(ModelBuilder &model, const BertConfig &config, llvm::StringRef base,
                             const BertPositions &positions);

/// tanh(dense(first token)).
Value buildBertPooler(ModelBuilder &model, const BertConfig &config, llvm::StringRef base,
                      const BertEncoder &encoder);

/// The base model's output `last_hidden_state`; also says how texts are embedded.
void buildLastHiddenState(Import &import, const BertEncoder &encoder, int64_t maxLength);

/// The same and, unless the checkpoint has none, `pooler_output`.
void buildBertBaseModel(Import &import, const BertConfig &config, const BertEncoder &encoder,
                        int64_t maxLength);

/// Names of the parameters of a masked-LM head.
struct MaskedLmNames {
  std::string dense, norm, decoder;
  /// The decoder's bias when the decoder is tied to the embedding.
  std::string tiedBias;
  /// The embedding that a tied decoder uses.
  std::string embedding;
};

/// Declares a tied embedding with the decoder's name as an alias; to be called
/// before the encoder is built.
void declareTiedEmbedding(ModelBuilder &model, const BertConfig &config,
                          const MaskedLmNames &names);

/// decoder(norm(activation(dense(x)))) of every token.
void buildMaskedLm(ModelBuilder &model, const BertConfig &config, ActivationKind activation,
                   const MaskedLmNames &names, const BertEncoder &encoder,
                   llvm::StringRef output = "logits");

/// Other names of the family's parameters: with or without `prefix` (`prefixed`:
/// the canonical names have it), and TensorFlow's names of the norms.
AliasRule bertAliases(llvm::StringRef prefix, bool prefixed);

/// If it is token classification, `classifier` on every token: `logits`. If it is question
/// answering, `qa_outputs`: `start_logits` and `end_logits`.
void buildTokenHead(Import &import, int64_t labels, const BertEncoder &encoder);

} // namespace mlir::transformer

#endif // MODELS_BERTLIKE_H
