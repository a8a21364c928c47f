//===- GenerationConfig.h - how tokens are chosen ---------------*- C++ -*-===//
//
// The fields of Hugging Face's generation_config.json that decide which tokens
// come out, with transformers' defaults and meaning.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_GENERATIONCONFIG_H
#define TRANSFORMER_RUNTIME_GENERATIONCONFIG_H

#include "runtime/base/Json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transformer::runtime {

/// When a beam search ends: as soon as there are num_beams finished sequences (Yes), when a better
/// one is unlikely (No), or when there can be none (Never).
enum class EarlyStopping { No, Yes, Never };

/// A sequence whose last token's score changes by `bias` where the tokens before it have just come.
struct SequenceBias {
  std::vector<int64_t> tokens;
  float bias;
};

struct GenerationConfig {
  // Lengths in tokens. A length counts the prompt (of an encoder-decoder model the decoder's ids);
  // "new" does not. The new ones win where both are set.
  std::optional<int64_t> maxLength, maxNewTokens; // neither: 20 new ones
  int64_t minLength = 0;
  std::optional<int64_t> minNewTokens;

  // The search.
  bool doSample = false;
  int64_t numBeams = 1;
  int64_t numReturnSequences = 1;
  EarlyStopping earlyStopping = EarlyStopping::No;
  double lengthPenalty = 1;
  uint64_t seed = 0;

  // Scores, in the order in which transformers changes them.
  std::vector<SequenceBias> sequenceBias;
  double encoderRepetitionPenalty = 1;
  double repetitionPenalty = 1;
  int64_t noRepeatNgramSize = 0;
  int64_t encoderNoRepeatNgramSize = 0;
  std::vector<std::vector<int64_t>> badWordsIds;
  std::optional<int64_t> forcedBosTokenId;
  std::vector<int64_t> forcedEosTokenId;
  bool removeInvalidValues = false;
  struct LengthDecay {
    int64_t start; // new tokens
    double factor;
  };
  std::optional<LengthDecay> exponentialDecayLengthPenalty;
  std::vector<int64_t> suppressTokens, beginSuppressTokens;
  // Only with doSample:
  double temperature = 1;
  std::optional<double> topH;
  int64_t topK = 50; // 0: all
  double topP = 1;
  std::optional<double> minP;
  double typicalP = 1;
  double epsilonCutoff = 0, etaCutoff = 0;
  bool renormalizeLogits = false;

  // Tokens.
  std::optional<int64_t> bosTokenId, padTokenId, decoderStartTokenId;
  std::vector<int64_t> eosTokenId;
  std::vector<std::string> stopStrings;
  /// What older checkpoints put after the decoder's start token: positions and tokens, none where
  /// the model chooses. The decoder's prompt has them; scores do not change.
  std::vector<std::pair<int64_t, std::optional<int64_t>>> forcedDecoderIds;

  /// Of a model's folder: generation_config.json; where there is none, what config.json says, as
  /// transformers does for older checkpoints; null where there is neither. Throws Error that names
  /// file and field.
  static std::optional<GenerationConfig> find(const std::string &folder);

  /// From the text of one of these files. `name` is what messages call it.
  static GenerationConfig parseFile(const std::string &file, const std::string &name,
                                    const std::string &text);

  /// From the text of a generation_config.json. `name` is what messages call it.
  static GenerationConfig parse(const std::string &name, const std::string &text);

  /// From the text of a config.json. Where an encoder-decoder's has no token to begin with, it has
  /// been shortened: the tokens it does not have are then its family's.
  static GenerationConfig parseModelConfig(const std::string &name, const std::string &text);

  /// Sets a field by its name in generation_config.json, or "seed"; null leaves it as it is. Throws
  /// Error, which begins with `where`, when the name is unknown, the value is no value of it, or it
  /// asks for what is not supported.
  void set(const std::string &where, const std::string &field, const Json &value);

  /// Throws Error when fields have values that cannot be used, or not together. For when all are
  /// set: what is not in use may have any value.
  void check() const;

  /// The number of ids, prompt and all, at which generation from a prompt of that many ends.
  /// `maxPositions`, if the model has it, bounds the default. Throws Error when there is no room
  /// for a token.
  int64_t maxLengthFor(int64_t promptLength, std::optional<int64_t> maxPositions = {}) const;

  /// The rows of a prompt's search: its beams or its sequences.
  int64_t rowsPerPrompt() const { return numBeams > 1 ? numBeams : numReturnSequences; }

  /// What an encoder-decoder's sequences begin with: decoder_start_token_id, else bos_token_id.
  /// Throws Error when there is neither.
  int64_t decoderStart() const;

  /// What fills rows that have ended: pad_token_id, the first eos_token_id, or 0. With beams a
  /// pad_token_id of 0 is none, as for transformers.
  int64_t fillToken() const;

  /// Candidates that a warper leaves at least: with beams, one more than can end a sequence.
  int64_t minTokensToKeep() const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_GENERATIONCONFIG_H
