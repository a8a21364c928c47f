//===- ExampleMaker.h - from a line of text to a row ------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_EXAMPLEMAKER_H
#define TRANSFORMER_RUNTIME_EXAMPLEMAKER_H

#include "runtime/abi/Description.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/train/TextFile.h"
#include "runtime/train/TextObjective.h"

#include <map>
#include <optional>

namespace transformer::runtime {

/// What lies beside a model's weights and says what texts become.
struct TextModel {
  Tokenizer tokenizer;
  std::optional<Tokenizer> targetTokenizer; // of targets, where it is another
  std::optional<int64_t> maxLength;         // that tokenizer_config.json states
  GenerationConfig generation;              // the tokens that targets begin and end with
  std::map<std::string, int64_t> classes;   // by their names
};

/// Makes examples of lines. May be used by several threads.
class ExampleMaker {
public:
  /// `model` and what `inputs` point to must outlive the object. Rows have at most `maxLength`
  /// tokens, special ones included (default: what is known of the model and its tokenizer); with
  /// `isStream` lines are no rows, but keep their ends and all of their tokens. Throws Error.
  ExampleMaker(const TextModel &model, TextObjective objective,
               const std::vector<const InputInfo *> &inputs, std::optional<int64_t> maxLength,
               bool isStream);

  /// Throws Error that says what is wrong with the line.
  Example make(std::string_view line) const;

  /// What rows are cut to.
  std::optional<int64_t> maxLength() const { return limit; }

  /// The token that decoders begin with.
  int64_t decoderStart() const { return start; }

private:
  Example makeText(const std::string &first, const std::string *second) const;
  std::vector<int64_t> makeTarget(const std::string &text, bool &isCut) const;
  double makeLabel(const std::string &text) const;

  const TextModel &model;
  TextObjective objective;
  const InputInfo *ids = nullptr, *types = nullptr, *labels = nullptr;
  bool isStream;
  std::optional<int64_t> limit;
  // Targets:
  std::optional<int64_t> targetLimit;
  int64_t start = 0;
  std::optional<int64_t> end; // which the tokenizer does not add
  bool hasStart = false;      // which the tokenizer adds
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_EXAMPLEMAKER_H
