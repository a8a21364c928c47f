//===- Embedder.h - sentence vectors ----------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_EMBEDDER_H
#define TRANSFORMER_RUNTIME_EMBEDDER_H

#include "runtime/execute/Program.h"
#include "runtime/text/Tokenizer.h"

#include <string>
#include <vector>

namespace transformer::runtime {

/// Turns texts into vectors with an encoder: tokenise, run, pool, normalise, as the module's
/// description says (mean pooling without normalisation if it says nothing).
class Embedder {
public:
  /// Both must outlive the object. Throws Error when the program is no text encoder.
  Embedder(Program &program, const Tokenizer &tokenizer);

  /// One row a text, in their order: F32 [texts, width]. Throws Error.
  Tensor embed(const std::vector<std::string> &texts);

  /// Unmasked tokens that went through the model so far.
  int64_t tokens() const { return tokenCount; }

private:
  std::vector<Encoding> encode(const std::vector<std::string> &texts) const;
  void pool(const float *hidden, int64_t length, int64_t width, float *result) const;

  Program &program;
  const Tokenizer &tokenizer;
  const EntryInfo &entry;
  EmbeddingInfo info;
  size_t output = 0; // index of the hidden states
  int64_t tokenCount = 0;
};

/// A text's place in a ranking.
struct Match {
  size_t index;
  float score; // cosine similarity
};

/// The `count` rows of `vectors` [n, width] most similar to `query` (width floats), best first.
std::vector<Match> rank(const Tensor &vectors, const float *query, size_t count);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_EMBEDDER_H
