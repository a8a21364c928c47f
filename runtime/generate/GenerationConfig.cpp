//===- GenerationConfig.cpp - checks and what follows from fields ---------===//
#include "runtime/generate/GenerationConfig.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

constexpr int64_t defaultNewTokens = 20, mostSequences = 65536;

void require(bool good, const char *field, double found, const char *expected) {
  if (!good)
    fail("{}: expected {}, found {}", field, expected, found);
}

void requireNone(const char *field, const std::vector<int64_t> &forced,
                 const std::vector<int64_t> &suppressed) {
  bool all = !forced.empty() && std::all_of(forced.begin(), forced.end(), [&](int64_t token) {
    return std::find(suppressed.begin(), suppressed.end(), token) != suppressed.end();
  });
  if (all)
    fail("{}: expected a token that suppress_tokens leaves, found {}", field,
         fmt::join(forced, ", "));
}

} // namespace

void GenerationConfig::check() const {
  require(numBeams > 0 && numBeams <= mostSequences, "num_beams", double(numBeams), "1 to 65536");
  require(numReturnSequences > 0 && numReturnSequences <= mostSequences, "num_return_sequences",
          double(numReturnSequences), "1 to 65536");
  if (numBeams == 1 && !doSample)
    require(numReturnSequences == 1, "num_return_sequences", double(numReturnSequences),
            "1 without do_sample or num_beams");
  if (numBeams > 1)
    require(numReturnSequences <= numBeams, "num_return_sequences", double(numReturnSequences),
            "no more than num_beams");
  if (maxNewTokens)
    require(*maxNewTokens > 0, "max_new_tokens", double(*maxNewTokens), "1 or more");
  require(repetitionPenalty > 0, "repetition_penalty", repetitionPenalty, "more than 0");
  require(encoderRepetitionPenalty > 0, "encoder_repetition_penalty", encoderRepetitionPenalty,
          "more than 0");
  if (exponentialDecayLengthPenalty && eosTokenId.empty())
    fail("exponential_decay_length_penalty: expected an eos_token_id that it can favour, found "
         "none");
  if (forcedBosTokenId)
    requireNone("forced_bos_token_id", {*forcedBosTokenId}, suppressTokens);
  requireNone("forced_eos_token_id", forcedEosTokenId, suppressTokens);
  if (!doSample)
    return;
  require(temperature > 0, "temperature", temperature,
          "more than 0 with do_sample (without, the best token is taken)");
  if (topH)
    require(*topH > 0 && *topH <= 1, "top_h", *topH, "more than 0 and at most 1");
  require(topK >= 0, "top_k", double(topK), "0 (all tokens) or more");
  require(topP >= 0, "top_p", topP, "0 to 1");
  if (minP)
    require(*minP >= 0 && *minP <= 1, "min_p", *minP, "0 to 1");
  require(typicalP > 0, "typical_p", typicalP, "more than 0");
}

int64_t GenerationConfig::maxLengthFor(int64_t promptLength,
                                       std::optional<int64_t> maxPositions) const {
  int64_t result = maxLength.value_or(0);
  if (maxNewTokens)
    result = promptLength + std::min(*maxNewTokens, INT64_MAX - promptLength);
  else if (!maxLength)
    result = std::min(promptLength + defaultNewTokens, maxPositions.value_or(INT64_MAX));
  if (promptLength >= result)
    fail("max_length: expected more than the prompt's {} tokens, found {}", promptLength, result);
  return result;
}

int64_t GenerationConfig::decoderStart() const {
  if (!decoderStartTokenId && !bosTokenId)
    fail("decoder_start_token_id: expected the token that sequences begin with, found none");
  return decoderStartTokenId.value_or(bosTokenId.value_or(0));
}

int64_t GenerationConfig::fillToken() const {
  bool isTaken = padTokenId && (numBeams == 1 || *padTokenId != 0);
  return isTaken || eosTokenId.empty() ? padTokenId.value_or(0) : eosTokenId[0];
}

int64_t GenerationConfig::minTokensToKeep() const {
  if (numBeams == 1)
    return 1;
  return eosTokenId.empty() ? 2 : int64_t(eosTokenId.size()) + 1;
}

} // namespace transformer::runtime
