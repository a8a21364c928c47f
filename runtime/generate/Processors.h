//===- Processors.h - changes to scores by what came before -----*- C++ -*-===//
//
// What transformers calls logits processors, each what its class does to one
// row of scores [vocabulary]. Tokens are ids of the sequence so far, prompt
// included; ids beyond the vocabulary are passed over.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_PROCESSORS_H
#define TRANSFORMER_RUNTIME_PROCESSORS_H

#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/Scores.h"

namespace transformer::runtime {

using Tokens = std::span<const int64_t>;

/// Scores `score` for each of `tokens`.
void setScores(std::span<float> scores, Tokens tokens, float score);

/// Nothing but `tokens` can come, each with score 0.
void forceTokens(std::span<float> scores, Tokens tokens);

/// RepetitionPenaltyLogitsProcessor: the score of each token of `tokens` is divided by `penalty` if
/// it is 0 or more and multiplied otherwise. EncoderRepetitionPenaltyLogitsProcessor is the same
/// with 1 / penalty for the tokens of the source. `originals` is for its work.
void penalise(std::span<float> scores, Tokens tokens, float penalty, std::vector<float> &originals);

/// NoRepeatNGramLogitsProcessor with text = tokens, EncoderNoRepeatNGramLogitsProcessor with the
/// source's: -infinity for a token that would make the last `size` tokens occur in `text` again.
void banNgrams(std::span<float> scores, Tokens tokens, Tokens text, int64_t size);

/// ExponentialDecayLengthPenalty: raises the scores of `eos` the more, the more tokens there are
/// beyond `start`.
void raiseEos(std::span<float> scores, Tokens eos, double factor, int64_t beyond);

/// InfNanRemoveLogitsProcessor: 0 for NaN, the largest floats for infinities.
void removeInvalid(std::span<float> scores);

/// SequenceBiasLogitsProcessor; with -infinity as bias NoBadWordsLogitsProcessor.
class SequenceBiases {
public:
  SequenceBiases() = default;
  /// Throws Error that begins with `field` when a token is not below `vocabulary`.
  SequenceBiases(const char *field, std::vector<SequenceBias> biases, int64_t vocabulary);

  bool empty() const { return biases.empty(); }

  void apply(std::span<float> scores, Tokens tokens);

private:
  std::vector<SequenceBias> biases; // in the order in which transformers adds them
  std::vector<float> sums;          // zeros between calls
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROCESSORS_H
