//===- EncoderDecoder.h - what encoder-decoder models share ---------------===//
//
// An encoder-decoder has `forward` and, with a language modelling head, two
// entry points of generation: `encode`, once a source, and `step`, as decoders
// have it (DecoderEntry.h).
//
//===----------------------------------------------------------------------===//
#ifndef MODELS_ENCODERDECODER_H
#define MODELS_ENCODERDECODER_H

#include "models/DecoderEntry.h"

namespace mlir::transformer {

enum class EntryPoint {
  Forward,
  Encode, // the encoder, and its keys and values for the decoder's layers
  Step,   // the decoder, some tokens on
};

/// Calls `build` for `forward` and, where there is a head, for `encode` and `step`.
void buildEncoderDecoderEntries(Import &import, llvm::function_ref<void(EntryPoint)> build);

/// One side's packed tokens.
struct Side {
  Value ids, positions, sequences;
};

/// What the inputs of one side are like.
struct SideInputs {
  int64_t vocabSize;
  int64_t maxLength; // how many positions there are; 0: the model has none
  /// How a missing mask is made.
  DefaultAttr mask;
};

/// Declares `input_ids`, `attention_mask` and, where positions count,
/// `position_ids` (behind "decoder_" for the decoder) and packs them.
Side buildSide(ModelBuilder &model, const SideInputs &inputs, bool decoder);

/// What a decoder's layer takes: x and its sequences, and with `hasMemory` the encoder's.
SmallVector<ModelBuilder::Argument> layerArguments(ModelBuilder &model, int64_t width,
                                                   bool hasMemory);

} // namespace mlir::transformer

#endif // MODELS_ENCODERDECODER_H
