//===- MaskedTokens.h - what a masked language model learns from -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_MASKEDTOKENS_H
#define TRANSFORMER_RUNTIME_MASKEDTOKENS_H

#include "runtime/text/Tokenizer.h"

#include <span>

namespace transformer::runtime {

/// Chooses tokens as transformers' DataCollatorForLanguageModeling does: with a probability each
/// one that is not special. Of the chosen ones 80 % become the mask token, 10 % a random one.
class MaskedTokens {
public:
  /// Ids are below `vocabularySize`. Throws Error when the tokenizer has no mask token.
  MaskedTokens(const Tokenizer &tokenizer, int64_t vocabularySize, double probability,
               uint64_t seed);

  /// Masks a row of an epoch; its labels become the ids of the chosen tokens, others stay. The
  /// same whatever is beside the row.
  void apply(std::span<int64_t> ids, std::span<int64_t> labels, int64_t epoch, uint32_t row) const;

private:
  double probability;
  uint64_t seed;
  int64_t mask;
  std::vector<int64_t> tokens;  // those there are, special ones among them
  std::vector<bool> isOrdinary; // by id
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MASKEDTOKENS_H
