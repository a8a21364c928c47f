//===- Unigram.h - the likeliest pieces -------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_UNIGRAM_H
#define TRANSFORMER_RUNTIME_UNIGRAM_H

#include "runtime/text/ByteTrie.h"
#include "runtime/text/Vocabulary.h"
#include "runtime/text/WordCache.h"

#include <optional>

namespace transformer::runtime {

/// The Unigram model: pieces whose scores (logarithms of probabilities) add up to the most.
class Unigram {
public:
  Vocabulary vocab;           // a piece's id is its place in the list
  std::vector<double> scores; // by id
  std::optional<int64_t> unknownId;
  bool byteFallback = false; // <0xE2> and so on instead of the unknown token

  // Pieces may have other ids than their places (Marian's, in vocab.json). Then sums are floats, as
  // SentencePiece's library has them; `scores` and `unknownId` are by place, and unknown text may
  // be any token.
  std::vector<int64_t> ids;   // by place; empty: the same
  std::optional<float> least; // the least likely piece's score; else the least of all

  using Pieces = std::vector<ByteTrie::Item>; // a piece and its place

  /// Called once, when all is in place. `pieces`: those that texts have.
  void finish(Pieces pieces);
  void finish(); // all of the vocabulary

  /// Appends the ids of `text` (UTF-8). False when the unknown token is needed and there is none.
  bool encode(std::string_view text, std::vector<int64_t> &ids) const;

private:
  bool best(std::string_view text, std::vector<int64_t> &ids) const;
  void unknown(std::string_view text, std::vector<int64_t> &out) const;
  int64_t idOf(int64_t place) const {
    return ids.empty() ? place : ids[static_cast<size_t>(place)];
  }

  ByteTrie trie;
  double unknownScore = 0;
  int64_t fallbackIds[256]; // of <0x00> and so on
  uint32_t owner = WordCache::newOwner();
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_UNIGRAM_H
