//===- DecoderOutput.cpp - the end of decoder models ----------------------===//
#include "models/DecoderOutput.h"

using namespace mlir;
using namespace mlir::transformer;

static constexpr StringLiteral head = "lm_head.weight";

void DecoderOutput::declareTied(Import &import, int64_t width) const {
  if (import.head == "Model" || !tied)
    return;
  Body &body = import.model.entry();
  SmallVector<std::string> names = {head.str()};
  llvm::append_range(names, otherNames);
  import.model.declare(tokens + ".weight",
                       RankedTensorType::get({vocabSize, width}, body.builder.getF32Type()),
                       body.init.embedding(import.model.getContext(), padding), names);
}

void DecoderOutput::build(Import &import, Value hidden, Value sequences) const {
  ModelBuilder &model = import.model;
  Body &body = model.entry();
  if (import.head == "Model")
    return model.output("last_hidden_state", body.unpack(hidden, sequences, "last_hidden_state"));
  model.output("logits", body.unpack(logits(import, hidden), sequences, "logits"));
}

void DecoderOutput::buildLast(Import &import, Value hidden, Value sequences) const {
  Value last = import.model.entry().lastToken(hidden, sequences);
  import.model.output("logits", logits(import, last), {"batch"});
}

Value DecoderOutput::logits(Import &import, Value hidden) const {
  ModelBuilder &model = import.model;
  Body &body = model.entry();
  InitAttr init = body.init.embedding(model.getContext());
  auto type = RankedTensorType::get({vocabSize, widthOf(hidden)}, body.builder.getF32Type());
  if (!tied && !otherNames.empty())
    model.declare(head, type, init, otherNames);
  Value matrix = body.weight(tied ? tokens + ".weight" : head.str(), type.getShape(), init);
  Value bias = hasBias ? body.weight("lm_head.bias", {vocabSize},
                                     makeInit(model.getContext(), InitKind::Zeros))
                       : Value();
  return body.linear(hidden, matrix, bias, WeightLayout::OutIn, "logits");
}
