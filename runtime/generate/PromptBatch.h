//===- PromptBatch.h - prompts and sequences as tensors ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PROMPTBATCH_H
#define TRANSFORMER_RUNTIME_PROMPTBATCH_H

#include "runtime/abi/Description.h"
#include "runtime/base/Tensor.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/Prompt.h"

#include <optional>
#include <span>
#include <vector>

namespace transformer::runtime {

/// What transformers' generate() takes and gives: `input_ids` and `attention_mask`, `[batch,
/// length]`, or an encoder's features, and `sequences`, `[batch * num_return_sequences, longest]`.
class PromptBatch {
public:
  /// Checks names, types, shapes and the mask's values. Without a mask the pad token, if it ends no
  /// sequence, is padding, as in transformers, or `sourcePadding`. With `hasSource`, for an
  /// encoder-decoder, these are the encoder's, and `decoder_input_ids`, `[batch, length]`, if
  /// given, is what sequences begin with behind the decoder's start token. An encoder that reads
  /// `features` has no `input_ids`. Throws Error that names the input.
  PromptBatch(const TensorMap &inputs, const GenerationConfig &config, bool hasSource = false,
              const InputInfo *features = nullptr,
              std::optional<int64_t> sourcePadding = std::nullopt);

  /// Without their padding.
  std::span<const Prompt> prompts() const { return rows; }

  /// Lengths of a configuration count the padding of the batch, those of a Generator do not: the
  /// same configuration in numbers of new tokens. Throws Error when there is no room for one.
  GenerationConfig withNewTokens(GenerationConfig config,
                                 std::optional<int64_t> maxPositions) const;

  /// Each row of `input_ids` as it was given (of an encoder-decoder the decoder's row), the new
  /// tokens behind it, and the fill token.
  Tensor sequences(const std::vector<std::vector<Hypothesis>> &results, int64_t fillToken) const;

private:
  void readSources(const TensorMap &inputs, std::optional<int64_t> padding);
  void readFeatures(const Tensor &given, const InputInfo &features);
  void readDecoderIds(const TensorMap &inputs, const GenerationConfig &config);

  std::vector<int64_t> ids; // [batch, length], of what is continued
  int64_t length = 0;
  std::vector<Prompt> rows;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROMPTBATCH_H
