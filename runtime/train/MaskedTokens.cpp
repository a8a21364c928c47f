//===- MaskedTokens.cpp - what a masked language model learns from --------===//
#include "runtime/train/MaskedTokens.h"

#include "runtime/base/Error.h"
#include "runtime/base/Philox.h"
#include "runtime/train/Draws.h"

namespace transformer::runtime {

MaskedTokens::MaskedTokens(const Tokenizer &tokenizer, int64_t vocabularySize, double probability,
                           uint64_t seed)
    : probability(probability), seed(seed), mask(tokenizer.idOf("[MASK]")) {
  if (mask < 0)
    mask = tokenizer.idOf("<mask>");
  if (mask < 0 || mask >= vocabularySize)
    fail("the tokenizer has no token \"[MASK]\" or \"<mask>\" of this model, which learns masked "
         "tokens");
  isOrdinary.resize(size_t(vocabularySize));
  for (int64_t id = 0; id < vocabularySize; ++id) {
    isOrdinary[size_t(id)] = tokenizer.token(id, /*skipSpecial=*/true) != nullptr;
    if (tokenizer.token(id, /*skipSpecial=*/false))
      tokens.push_back(id);
  }
}

void MaskedTokens::apply(std::span<int64_t> ids, std::span<int64_t> labels, int64_t epoch,
                         uint32_t row) const {
  uint64_t sequence = uint64_t(epoch) << 32 | row;
  for (uint32_t i = 0; i < ids.size(); ++i) {
    auto drawn = [&](uint32_t purpose) { return uniform(seed, sequence, i, purpose); };
    if (!isOrdinary[size_t(ids[i])] || drawn(draws::chosen) >= probability)
      continue;
    labels[i] = ids[i];
    double kind = drawn(draws::replaced);
    if (kind < 0.8)
      ids[i] = mask;
    else if (kind < 0.9)
      ids[i] = tokens[size_t(drawn(draws::randomToken) * double(tokens.size()))];
  }
}

} // namespace transformer::runtime
