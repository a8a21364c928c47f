//===- Bpe.h - byte pair encoding -------------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BPE_H
#define TRANSFORMER_RUNTIME_BPE_H

#include "runtime/text/Vocabulary.h"
#include "runtime/text/WordCache.h"

#include <optional>

namespace transformer::runtime {

/// The BPE model: a word is cut into characters, then the pair that was learnt first is merged, the
/// leftmost of equal ones, until no pair is known.
class Bpe {
public:
  std::optional<std::string> unknownToken; // for characters that are not known; else they are lost
  std::string prefix;                      // of a character that does not start its word
  std::string suffix;                      // of one that ends it
  bool fuseUnknown = false;                // unknown characters in a row are one token
  bool byteFallback = false;               // <0xE2> and so on instead of the unknown token
  bool ignoreMerges = false;               // a word that is a token is that token
  Vocabulary vocab;

  /// Pair number `rank` (they count from 0) and what it becomes; false: one of them is no token.
  bool addMerge(std::string_view first, std::string_view second, uint32_t rank);
  void reserveMerges(size_t count);

  /// Called once, when all is in place. `bytes`: words are bytes as they are, the vocabulary writes
  /// them as characters (ByteLevel.h).
  void finish(bool bytes);

  /// Appends the ids of `text`. False when the unknown token is needed and is no token.
  bool encode(std::string_view text, std::vector<int64_t> &ids) const;

private:
  struct Merge {
    uint64_t pair = ~uint64_t(0); // first << 32 | second
    uint32_t rank = 0, id = 0;
  };
  struct Scratch;

  const Merge *find(uint32_t first, uint32_t second) const;
  void growMerges(size_t slots);
  bool word(std::string_view text, std::vector<int64_t> &ids) const;
  bool symbols(std::string_view text, std::vector<uint32_t> &out) const;
  bool character(std::string_view text, size_t begin, size_t end, std::vector<uint32_t> &out,
                 bool &pendingUnknown) const;
  void mergeFew(std::vector<uint32_t> &symbols) const;
  template <typename Queue> void mergeMany(std::vector<uint32_t> &symbols, Queue queue) const;

  std::vector<Merge> merges; // a power of two of slots
  size_t mergeCount = 0;
  uint32_t ranks = 0;       // all are below
  bool crossesMark = false; // some pair has U+2581 behind another character
  bool cutAtMark = false;
  bool bytes = false, allBytes = false;
  int64_t byteIds[256];     // of the characters of bytes
  int64_t fallbackIds[256]; // of <0x00> and so on
  uint32_t owner = WordCache::newOwner();
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BPE_H
