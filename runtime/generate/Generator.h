//===- Generator.h - a program's own text -----------------------*- C++ -*-===//
//
//   Generator generator(program, *GenerationConfig::find(folder), {.rows = 8});
//   auto results = generator.generate({{{464, 3290}}}); // of each prompt its sequences
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_GENERATOR_H
#define TRANSFORMER_RUNTIME_GENERATOR_H

#include "runtime/generate/Batcher.h"

#include <optional>
#include <span>
#include <vector>

namespace transformer::runtime {

/// Continues prompts with a program that has the entry point `step`; with an encoder-decoder the
/// decoder's, about their sources. What a prompt becomes does not depend on the others.
class Generator {
public:
  /// `program` must outlive the object. Pages of `limits` are made as they are needed. `bytes` is
  /// needed with stop strings only. Throws Error when the program has no such entry point, or the
  /// configuration cannot be used.
  Generator(Program &program, GenerationConfig config, BatchLimits limits, TokenBytes bytes = {});

  std::optional<int64_t> maxPositions() const { return model.maxPositions(); }
  /// The tokens that a prompt may have.
  int64_t promptVocabulary() const {
    return model.sources().vocabulary().value_or(model.vocabulary());
  }

  /// What prompts have instead of tokens, or null.
  const InputInfo *features() const { return model.sources().features(); }

  /// A prompt that continues these tokens; with an encoder-decoder they are the source, and what is
  /// continued is the token that the configuration begins with, without which it throws Error.
  Prompt makePrompt(std::vector<int64_t> ids) const;

  /// Tells of each prompt its tokens as they come and its num_return_sequences sequences when they
  /// are done; a request is a prompt by its place. Throws Error that names the prompt, first of all
  /// when there is not enough memory for it. The memory of keys and values is kept for the next
  /// call.
  void generate(std::span<const Prompt> prompts, Batcher::Events events);

  /// The same at the end.
  std::vector<std::vector<Hypothesis>> generate(std::span<const Prompt> prompts);

private:
  int64_t pagesFor(std::span<const Prompt> prompts) const;

  StepModel model;
  LogitsProcessors processors;
  Stopping stopping;
  BatchLimits limits;
  std::optional<PageCache> kept; // all of its pages are free
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_GENERATOR_H
