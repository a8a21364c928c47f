//===- TextData.h - data that is a file of text -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TEXTDATA_H
#define TRANSFORMER_RUNTIME_TEXTDATA_H

#include "runtime/train/BatchPlan.h"
#include "runtime/train/DataSource.h"
#include "runtime/train/ExampleMaker.h"
#include "runtime/train/MaskedTokens.h"

namespace transformer::runtime {

struct TextOptions {
  Batching batching;
  std::optional<int64_t> maxLength; // of a row; ExampleMaker
  std::optional<int64_t> blockSize; // rows are so many tokens of the text, not lines
  double maskProbability = 0.15;
};

/// The rows of a text file, as an objective wants them: padded on the right in batches.
class TextData : public DataSource {
public:
  /// `inputs` are those of a step, whose descriptions must outlive the object; only they are made.
  /// Throws Error that names the file and, if it is one's, the line.
  TextData(const std::string &path, TextObjective objective,
           const std::vector<const InputInfo *> &inputs, const TextModel &model,
           const TextOptions &options, const LoadProgress &progress);

  int64_t steps() const override { return plan->steps(); }
  TensorMap inputs(int64_t index) const override;

  /// A line for the user: what is in the file, and how much of it was cut.
  const std::string &summary() const { return text; }

private:
  void addTokens(TensorMap &all, const std::vector<uint32_t> &rows, int64_t epoch) const;
  void addTargets(TensorMap &all, const std::vector<uint32_t> &rows) const;
  Tensor labelsOf(const std::vector<uint32_t> &rows) const;

  TextObjective objective;
  std::vector<const InputInfo *> wanted;
  const InputInfo *labels = nullptr;
  bool hasTypes = false; // of tokens
  int64_t pad, ignored, decoderStart;
  Examples examples;
  std::optional<MaskedTokens> masked;
  std::optional<BatchPlan> plan;
  std::string text;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TEXTDATA_H
