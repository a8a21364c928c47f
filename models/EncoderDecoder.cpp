//===- EncoderDecoder.cpp - what encoder-decoder models share -------------===//
#include "models/EncoderDecoder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

void transformer::buildEncoderDecoderEntries(Import &import,
                                             llvm::function_ref<void(EntryPoint)> build) {
  build(EntryPoint::Forward);
  if (import.head == "Model")
    return;
  import.model.beginEntry("encode");
  build(EntryPoint::Encode);
  import.model.beginEntry("step");
  build(EntryPoint::Step);
}

Side transformer::buildSide(ModelBuilder &model, const SideInputs &inputs, bool decoder) {
  std::string side = decoder ? "decoder_" : "";
  Value ids = model.input({side + "input_ids", {}, inputs.vocabSize, inputs.maxLength, decoder});
  Value mask = model.input({side + "attention_mask", inputs.mask, 0, 0, decoder});
  if (!inputs.maxLength) {
    SmallVector<Value> packed = model.pack({ids}, mask, side);
    return {packed[0], {}, packed[1]};
  }
  Value positions = model.input(
      {side + "position_ids", model.missing(DefaultKind::Columns), inputs.maxLength, 0, decoder});
  SmallVector<Value> packed = model.pack({ids, positions}, mask, side);
  return {packed[0], packed[1], packed[2]};
}

SmallVector<ModelBuilder::Argument> transformer::layerArguments(ModelBuilder &model, int64_t width,
                                                                bool hasMemory) {
  Type rows = model.entry().rows(width), sequences = model.sequencesType();
  SmallVector<ModelBuilder::Argument> arguments = {{"x", rows}, {"sequences", sequences}};
  if (hasMemory)
    arguments.append({{"memory", rows}, {"memory_sequences", sequences}});
  return arguments;
}

static double scaleOf(Value x, int64_t heads) { return 1 / std::sqrt(double(widthOf(x) / heads)); }

Value transformer::attendSelf(Body &layer, Value x, Value sequences, const Projections &names,
                              const AttentionOptions &options, LayerCache &cache) {
  if (!cache)
    return layer.multiHeadAttention(x, sequences, names, options);
  SmallVector<Value> qkv;
  for (const std::string &name : ArrayRef(names).drop_back())
    qkv.push_back(layer.linear(x, name, widthOf(x)));
  Value y = cache.attend(layer, qkv, sequences, options, scaleOf(x, options.heads));
  return layer.linear(y, names.back(), widthOf(x));
}

Value transformer::attendSource(Body &layer, Value x, ValueRange own, const Projections &names,
                                int64_t heads, const LayerCache &cache) {
  if (!cache)
    return layer.multiHeadAttention(x, own[1], names, {heads, /*causal=*/false, own[2], own[3]});
  Value q = layer.linear(x, names[0], widthOf(x));
  Value y = cache.attendSource(layer, q, own[1], {heads}, scaleOf(x, heads));
  return layer.linear(y, names[3], widthOf(x));
}

void transformer::encodeSource(DecoderEntry &entry, StringRef scope, Value memory, Value sequences,
                               const Projections &names, int64_t heads, InitScheme init) {
  entry.encode(scope, memory, sequences, heads, init, [&](Body &layer, Value x) {
    return std::pair(layer.linear(x, names[1], widthOf(x)), layer.linear(x, names[2], widthOf(x)));
  });
}
