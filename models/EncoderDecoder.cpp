//===- EncoderDecoder.cpp - what encoder-decoder models share -------------===//
#include "models/EncoderDecoder.h"

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
