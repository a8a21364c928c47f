//===- DecoderOutput.h - the end of decoder models ------------------------===//
#ifndef MODELS_DECODEROUTPUT_H
#define MODELS_DECODEROUTPUT_H

#include "models/Family.h"

namespace mlir::transformer {

/// `last_hidden_state` of a base model, or `logits` of one with a language
/// modelling head, `lm_head`, whose matrix may be that of the token embedding.
struct DecoderOutput {
  int64_t vocabSize;
  std::string tokens; // the embedding's name, without ".weight"
  bool tied;
  SmallVector<std::string> otherNames = {}; // of the head's matrix
  bool hasBias = false;
  std::optional<int64_t> padding = {}; // the embedding's row that is not trained

  /// Before the embedding is read: checkpoints may hold a tied matrix under the
  /// head's names. `width` is the embedding's.
  void declareTied(Import &import, int64_t width) const;
  void build(Import &import, Value hidden, Value sequences) const;
  /// The logits behind each sequence's last token, `[batch, vocabulary]`.
  void buildLast(Import &import, Value hidden, Value sequences) const;

private:
  Value logits(Import &import, Value hidden) const;
};

} // namespace mlir::transformer

#endif // MODELS_DECODEROUTPUT_H
