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

/// Names of an attention block's linear layers: query, key, value and output.
using Projections = std::array<std::string, 4>;

/// Self-attention in a decoder's layer: of its own rows, or with a cache of all there are.
Value attendSelf(Body &layer, Value x, Value sequences, const Projections &names,
                 const AttentionOptions &options, LayerCache &cache);

/// Cross-attention of x in a decoder's layer; `own` are the arguments of the layer, of which memory
/// is one unless the cache has the source.
Value attendSource(Body &layer, Value x, ValueRange own, const Projections &names, int64_t heads,
                   const LayerCache &cache);

/// All there is to the end of `encode`, where the decoder's layers project `memory` by the linear
/// layers called `names`.
void encodeSource(DecoderEntry &entry, StringRef scope, Value memory, Value sequences,
                  const Projections &names, int64_t heads, InitScheme init);

} // namespace mlir::transformer

#endif // MODELS_ENCODERDECODER_H
