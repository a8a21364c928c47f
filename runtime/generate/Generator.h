//===- Generator.h - a program's own text -----------------------*- C++ -*-===//
//
//   Generator generator(program, GenerationConfig::open(folder));
//   auto results = generator.generate({{{464, 3290}}}); // of each prompt its sequences
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_GENERATOR_H
#define TRANSFORMER_RUNTIME_GENERATOR_H

#include "runtime/execute/Program.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Prompt.h"
#include "runtime/generate/Stopping.h"

#include <functional>
#include <span>
#include <vector>

namespace transformer::runtime {

/// Continues prompts with a program that has the entry point `step`: those of a batch at once, each
/// with as many rows as the search takes. What a prompt becomes does not depend on the others. With
/// an encoder-decoder a prompt's source is encoded, and its tokens are the decoder's.
class Generator {
public:
  /// Told of every token: prompt, which of its sequences, id. Not with beams, whose tokens are not
  /// certain until the end.
  using OnToken = std::function<void(int64_t prompt, int64_t sequence, int64_t token)>;

  /// `program` must outlive the object. `bytes` is needed with stop strings only. Throws Error when
  /// the program has no such entry point, or the configuration cannot be used.
  Generator(Program &program, GenerationConfig config, TokenBytes bytes = {});

  /// Whether prompts have sources that are encoded.
  static bool hasSource(const Module &module);

  /// The positions that the model (of an encoder-decoder the decoder) has; none where it has no
  /// limit.
  static std::optional<int64_t> maxPositions(const Program &program);

  int64_t vocabulary() const { return processors.vocabulary(); }
  /// Of sources, where prompts have them.
  int64_t sourceVocabulary() const;

  /// Of each prompt its num_return_sequences sequences. Throws Error that names the prompt.
  std::vector<std::vector<Hypothesis>> generate(std::span<const Prompt> prompts,
                                                const OnToken &onToken = {});

private:
  template <typename Search>
  std::vector<std::vector<Hypothesis>> runSearch(Search &search, std::span<const Prompt> prompts,
                                                 const OnToken &onToken);
  void checkLengths(std::span<const Prompt> prompts) const;
  int64_t maxLengthFor(const Prompt &prompt) const;

  Program &program;
  const EntryInfo &entry;
  LogitsProcessors processors;
  Stopping stopping;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_GENERATOR_H
