//===- StepModel.h - the model that a search asks ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STEPMODEL_H
#define TRANSFORMER_RUNTIME_STEPMODEL_H

#include "runtime/execute/Program.h"
#include "runtime/generate/Sources.h"

#include <optional>
#include <span>
#include <string>

namespace transformer::runtime {

/// New tokens of a row of the cache.
struct Feed {
  int64_t row;
  std::span<const int64_t> tokens;
  int64_t source = -1; // the row that has its source, of an encoder-decoder
};

/// A program's entry point `step`, which adds tokens to sequences and scores what may follow, and
/// what encodes an encoder-decoder's sources before.
class StepModel {
public:
  /// `program` must outlive the object. Throws Error when it has no such entry point.
  explicit StepModel(Program &program);

  int64_t vocabulary() const { return numTokens; }
  /// That a sequence may have; none where the model has no limit.
  std::optional<int64_t> maxPositions() const;

  int64_t pagePositions() const;
  /// Of the keys and values of a page, all layers.
  int64_t pageBytes() const;
  PageCache makeCache(int64_t numPages) const;
  /// About how many pages there is memory for.
  uint64_t availablePages() const { return program.availableMemory() / uint64_t(pageBytes()); }

  const Sources &sources() const { return encoder; }

  /// The scores behind the last new token of each row, `[feeds, vocabulary]`. They may be
  /// overwritten, and live until the next call.
  std::span<float> step(PageCache &cache, std::span<const Feed> feeds);

private:
  Program &program;
  const EntryInfo &entry;
  Sources encoder;
  std::string prefix; // of the names of inputs that are about the sequences
  size_t logitsIndex; // of the outputs
  int64_t numTokens;
  Tensor logits;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STEPMODEL_H
