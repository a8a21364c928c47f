//===- Sources.h - what rows attend to beside their past --------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SOURCES_H
#define TRANSFORMER_RUNTIME_SOURCES_H

#include "runtime/execute/Program.h"
#include "runtime/generate/PageCache.h"
#include "runtime/generate/Prompt.h"

#include <optional>
#include <span>

namespace transformer::runtime {

/// The sources of an encoder-decoder's prompts: the entry point `encode` writes their keys and
/// values once, into rows of the page cache that are never extended, and every row that continues a
/// prompt reads its source there. Of a decoder there are none.
class Sources {
public:
  /// `program` must outlive the object.
  explicit Sources(Program &program)
      : program(program), entry(program.module().description().findEntry("encode")) {}

  /// Whether the program is an encoder-decoder's; if not, there is nothing to do.
  bool exist() const { return entry != nullptr; }
  static bool exist(const Module &module) { return module.description().findEntry("encode"); }

  /// The tokens of sources and the positions that one may have; none where there is no limit.
  std::optional<int64_t> vocabulary() const { return endOf("input_ids"); }
  std::optional<int64_t> maxPositions() const { return endOf("position_ids"); }

  /// The encoder's input where it is numbers, not tokens, as a sound's; else null.
  const InputInfo *features() const { return features(program.module()); }
  static const InputInfo *features(const Module &module);
  /// The token that a source's mask leaves out where none is given; none if the encoder has no
  /// such.
  static std::optional<int64_t> padding(const Module &module);

  /// The pages that a prompt's source takes. Throws Error that names the prompt by its number, from
  /// 0, when its source is empty, too long or of the other kind.
  int64_t pagesFor(const Prompt &prompt, int64_t number, int64_t pagePositions) const;

  /// Encodes the prompts' sources into rows of the cache, which are empty, one each.
  void encode(PageCache &cache, std::span<const Prompt *const> prompts,
              std::span<const int64_t> rows) const;

  /// Adds the inputs of `step` that say where the sources are: in these rows.
  static void addInputs(TensorMap &inputs, const PageCache &cache, std::span<const int64_t> rows);

private:
  std::optional<int64_t> endOf(const char *input) const;
  int64_t lengthOf(const Prompt &prompt) const;
  void addFeatures(TensorMap &inputs, std::span<const Prompt *const> prompts) const;

  Program &program;
  const EntryInfo *entry; // null: a decoder's program
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SOURCES_H
