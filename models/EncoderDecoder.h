//===- EncoderDecoder.h - inputs of encoder-decoder models ----------------===//
#ifndef MODELS_ENCODERDECODER_H
#define MODELS_ENCODERDECODER_H

#include "models/Family.h"

namespace mlir::transformer {

/// One side's packed tokens.
struct Side {
  Value ids, positions, sequences;
};

/// What the inputs of one side are like.
struct SideInputs {
  int64_t vocabSize;
  int64_t maxLength;
  /// How a missing mask is made.
  DefaultAttr mask;
};

/// Declares `input_ids`, `attention_mask` and `position_ids` (behind "decoder_"
/// for the decoder) and packs them.
Side buildSide(ModelBuilder &model, const SideInputs &inputs, bool decoder);

} // namespace mlir::transformer

#endif // MODELS_ENCODERDECODER_H
