//===- LlamaLike.h - what Llama and the families after it share -----------===//
#ifndef MODELS_LLAMALIKE_H
#define MODELS_LLAMALIKE_H

#include "models/Family.h"
#include "models/Rope.h"

namespace mlir::transformer {

/// Decoders of pre-norm layers: RMS norms, rotated heads that may share keys and
/// values, gated feed-forward layers.
struct LlamaConfig {
  int64_t vocabSize, width, layers, heads, kvHeads, headDim, ffnWidth;
  ActivationKind activation;
  double deviation;
  RmsNorm norm;
  std::optional<int64_t> padding; // the row of words that is not trained
  Rope rope;
  bool tied;
  /// Of each layer; 0: it sees all keys before.
  SmallVector<int64_t> windows;

  DropoutRates dropout;

  // What the families differ in.
  bool qkvBias = false, outBias = false, ffnBias = false;
  bool headNorms = false; // of queries and keys, each head by itself
  bool merged = false;    // one tensor for queries, keys and values, one for gate and up
  double embeddingScale = 1;

  /// Values of fields that are not there.
  struct Defaults {
    int64_t vocabSize, width, layers, heads, ffnWidth, positions;
    int64_t kvHeads = 0; // 0: as many as heads
    int64_t headDim = 0; // 0: width / heads
    double eps = 1e-6;
    llvm::StringRef activation = "silu";
    bool tied = false;
    int64_t window = 0; // of all layers
    std::optional<int64_t> padding = {};
    Rope::Family rope = {};
  };
  static LlamaConfig read(Config &config, const Defaults &defaults);
};

/// The model with its head, "Model" or "ForCausalLM".
void buildLlamaLike(Import &import, const LlamaConfig &config);

} // namespace mlir::transformer

#endif // MODELS_LLAMALIKE_H
