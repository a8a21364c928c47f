//===- Vocabulary.h - tokens and their ids ----------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_VOCABULARY_H
#define TRANSFORMER_RUNTIME_VOCABULARY_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transformer::runtime {

/// A hash of short texts.
inline uint64_t hashText(std::string_view text) {
  constexpr uint64_t factor = 0x9E3779B97F4A7C15;
  uint64_t hash = text.size() * factor, word;
  const char *at = text.data();
  size_t left = text.size();
  for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
    std::memcpy(&word, at, sizeof(word));
    hash = (hash ^ word) * factor;
    hash ^= hash >> 29;
  }
  word = 0;
  if (left > 0)
    std::memcpy(&word, at, left);
  hash = (hash ^ word) * factor;
  return hash ^ hash >> 32;
}

/// A model's tokens: text to id and back. Ids may be any, but are mostly 0, 1, 2 and so on.
class Vocabulary {
public:
  /// Room for so many tokens.
  void reserve(size_t count);

  /// A token that is added again gets the later id.
  void add(std::string_view token, int64_t id);

  /// The id of a token; -1: not known.
  int64_t find(std::string_view token) const;

  /// The token of an id; nullptr: not known.
  const std::string *token(int64_t id) const;

  size_t size() const { return entries.size(); }

  /// Bytes of the longest token.
  size_t longest() const { return longestToken; }

  struct Entry {
    std::string token;
    int64_t id;
  };
  const std::vector<Entry> &all() const { return entries; }

private:
  struct Slot {
    uint32_t tag = 0;   // of the token's hash: most tokens that are others are not even looked at
    uint32_t entry = 0; // its index + 1, 0: free
  };

  size_t slotOf(std::string_view token, uint64_t hash) const;
  void grow(size_t count);
  void point(int64_t id, uint32_t entry);

  std::vector<Entry> entries;
  size_t longestToken = 0;
  std::vector<Slot> slots;                       // a power of two
  std::vector<uint32_t> byId;                    // the entry's index + 1
  std::unordered_map<int64_t, uint32_t> distant; // the same of ids that are too large for byId
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_VOCABULARY_H
