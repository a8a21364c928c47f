//===- GptLike.h - what OpenAI GPT and GPT-2 share ------------------------===//
#ifndef MODELS_GPTLIKE_H
#define MODELS_GPTLIKE_H

#include "models/Family.h"

namespace mlir::transformer {

struct GptConfig {
  int64_t vocabSize, width, layers, heads, positions;
  Norm norm;
  double deviation;
  bool tied;

  static GptConfig read(Config &config, int64_t vocabSize, int64_t positions);
  /// 1 / sqrt(head_dim).
  double scale() const;
};

/// The sum of token and position embeddings, `[tokens, width]`, and the sequences.
struct GptInputs {
  Value hidden, sequences;
};

/// Inputs, token embedding `tokens` and position embedding `positions`, which
/// are whole names without ".weight". With a tied language-modelling head
/// (`hasHead`) `tokens` may also be stored as `lm_head`.
GptInputs buildGptInputs(ModelBuilder &model, const GptConfig &config, llvm::StringRef tokens,
                         llvm::StringRef positions, bool hasHead);

/// Causal attention with one merged projection: `attn.c_attn`, `attn.c_proj`.
Value buildGptAttention(Body &body, Value x, Value sequences, const GptConfig &config, double scale,
                        Value scaleFactor, InitScheme outputInit);

/// The output `last_hidden_state`, or `logits` of the language-modelling head.
void buildGptOutput(Import &import, const GptConfig &config, llvm::StringRef tokens, Value hidden,
                    Value sequences);

} // namespace mlir::transformer

#endif // MODELS_GPTLIKE_H
