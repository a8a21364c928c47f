//===- GptLike.h - what OpenAI GPT and GPT-2 share ------------------------===//
#ifndef MODELS_GPTLIKE_H
#define MODELS_GPTLIKE_H

#include "models/DecoderEntry.h"

namespace mlir::transformer {

struct GptConfig {
  int64_t vocabSize, width, layers, heads, positions;
  Norm norm;
  double deviation;
  bool tied;
  DropoutRates dropout;

  /// `dropout` is the rate where a field is not there.
  static GptConfig read(Config &config, int64_t vocabSize, int64_t positions, bool tied = true,
                        double dropout = 0.1);
  /// 1 / sqrt(head_dim).
  double scale() const;
};

/// The sum of token and position embeddings, `[tokens, width]`, the sequences,
/// and the entry point with its caches.
struct GptInputs {
  Value hidden, sequences;
  DecoderEntry entry;
};

/// Inputs, token embedding and position embedding `positions`, a whole name
/// without ".weight".
GptInputs buildGptInputs(Import &import, const GptConfig &config, const DecoderOutput &output,
                         llvm::StringRef positions, bool step);

/// What scores are multiplied by; `factor` may be null.
struct GptScale {
  double scale;
  Value factor = {};
};

/// Causal attention with one merged projection: `attn.c_attn`, `attn.c_proj`.
Value buildGptAttention(Body &body, Value x, Value sequences, const GptConfig &config,
                        const GptScale &scale, InitScheme outputInit, LayerCache &cache);

} // namespace mlir::transformer

#endif // MODELS_GPTLIKE_H
