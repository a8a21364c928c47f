//===- LogitsProcessors.cpp - from a model's scores to a choice's ---------===//
#include "runtime/generate/LogitsProcessors.h"

#include "runtime/base/Error.h"

namespace transformer::runtime {
namespace {

/// Bad words as biases; a word that is just an end of sequence may come, as in transformers.
std::vector<SequenceBias> biasesOf(const GenerationConfig &config) {
  std::vector<SequenceBias> result;
  for (const std::vector<int64_t> &word : config.badWordsIds) {
    bool isEos = word.size() == 1 &&
                 std::count(config.eosTokenId.begin(), config.eosTokenId.end(), word[0]) > 0;
    if (!isEos)
      result.push_back({word, minusInfinity});
  }
  return result;
}

void requireTokens(const char *field, Tokens tokens, int64_t vocabulary) {
  for (int64_t token : tokens)
    if (token < 0 || token >= vocabulary)
      fail("{}: expected a token from 0 to {}, found {}", field, vocabulary - 1, token);
}

} // namespace

LogitsProcessors::LogitsProcessors(GenerationConfig config, int64_t vocabulary)
    : settings(std::move(config)), size(vocabulary),
      biases("sequence_bias", settings.sequenceBias, vocabulary),
      badWords("bad_words_ids", biasesOf(settings), vocabulary) {
  settings.check();
  if (settings.forcedBosTokenId)
    requireTokens("forced_bos_token_id", {&*settings.forcedBosTokenId, 1}, vocabulary);
  requireTokens("forced_eos_token_id", settings.forcedEosTokenId, vocabulary);
}

void LogitsProcessors::apply(std::span<float> scores, const History &history) {
  process(scores, history);
  if (settings.doSample)
    warp(scores);
  if (settings.renormalizeLogits)
    logSoftmax(scores);
}

void LogitsProcessors::process(std::span<float> scores, const History &history) {
  auto length = int64_t(history.tokens.size()), newTokens = length - history.promptLength;
  if (!biases.empty())
    biases.apply(scores, history.tokens);
  if (settings.encoderRepetitionPenalty != 1)
    penalise(scores, history.source, float(1 / settings.encoderRepetitionPenalty), originals);
  if (settings.repetitionPenalty != 1)
    penalise(scores, history.tokens, float(settings.repetitionPenalty), originals);
  if (settings.noRepeatNgramSize > 0)
    banNgrams(scores, history.tokens, history.tokens, settings.noRepeatNgramSize);
  if (settings.encoderNoRepeatNgramSize > 0)
    banNgrams(scores, history.tokens, history.source, settings.encoderNoRepeatNgramSize);
  if (!badWords.empty())
    badWords.apply(scores, history.tokens);
  bool tooShort =
      settings.minNewTokens ? newTokens < *settings.minNewTokens : length < settings.minLength;
  if (tooShort)
    setScores(scores, settings.eosTokenId, minusInfinity);
  if (settings.forcedBosTokenId && length == 1)
    forceTokens(scores, {&*settings.forcedBosTokenId, 1});
  if (!settings.forcedEosTokenId.empty() && length == history.maxLength - 1)
    forceTokens(scores, settings.forcedEosTokenId);
  if (settings.removeInvalidValues)
    removeInvalid(scores);
  if (settings.exponentialDecayLengthPenalty) {
    const GenerationConfig::LengthDecay &decay = *settings.exponentialDecayLengthPenalty;
    if (newTokens > decay.start)
      raiseEos(scores, settings.eosTokenId, decay.factor, newTokens - decay.start);
  }
  setScores(scores, settings.suppressTokens, minusInfinity);
  // The first token that is chosen: after one that is forced, the second.
  bool bosIsForced = settings.forcedBosTokenId && history.promptLength <= 1;
  if (newTokens == (bosIsForced ? 1 : 0))
    setScores(scores, settings.beginSuppressTokens, minusInfinity);
}

void LogitsProcessors::warp(std::span<float> scores) {
  int64_t least = settings.minTokensToKeep();
  if (settings.temperature != 1)
    applyTemperature(scores, settings.temperature);
  if (settings.topH)
    keepTopH(scores, *settings.topH, scratch);
  if (settings.topK != 0)
    keepTopK(scores, settings.topK, least, scratch);
  if (settings.topP < 1)
    keepTopP(scores, settings.topP, least, scratch);
  if (settings.minP)
    keepMinP(scores, *settings.minP, least, scratch);
  if (settings.typicalP < 1)
    keepTypical(scores, settings.typicalP, least, scratch);
  if (settings.epsilonCutoff > 0 && settings.epsilonCutoff < 1)
    keepEpsilon(scores, settings.epsilonCutoff, least, scratch);
  if (settings.etaCutoff > 0 && settings.etaCutoff < 1)
    keepEta(scores, settings.etaCutoff, least, scratch);
}

} // namespace transformer::runtime
