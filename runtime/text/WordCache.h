//===- WordCache.h - the ids of words seen before ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_WORDCACHE_H
#define TRANSFORMER_RUNTIME_WORDCACHE_H

#include "runtime/text/Vocabulary.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace transformer::runtime {

/// What a model made of short words lately. Each thread has one (2 MB), which all models share; a
/// word stays until another takes its place.
class WordCache {
public:
  /// A number of its own for a model that asks the cache.
  static uint32_t newOwner() {
    static std::atomic<uint32_t> last{0};
    return ++last;
  }

  /// This thread's.
  static WordCache &get() {
    static thread_local WordCache cache;
    return cache;
  }

  /// Appends the ids of `word`, if the cache has them.
  bool find(uint32_t owner, std::string_view word, std::vector<int64_t> &ids) const {
    if (word.size() > maxLength)
      return false;
    const Entry &entry = entries[slotOf(owner, word)];
    if (entry.owner != owner || entry.length != word.size() ||
        std::memcmp(entry.text, word.data(), word.size()) != 0)
      return false;
    ids.insert(ids.end(), entry.ids, entry.ids + entry.count);
    return true;
  }

  void store(uint32_t owner, std::string_view word, const int64_t *ids, size_t count) {
    if (word.size() > maxLength || count > maxIds)
      return;
    Entry &entry = entries[slotOf(owner, word)];
    entry.owner = owner;
    entry.length = static_cast<uint8_t>(word.size());
    entry.count = static_cast<uint8_t>(count);
    std::memcpy(entry.text, word.data(), word.size());
    std::transform(ids, ids + count, entry.ids,
                   [](int64_t id) { return static_cast<int32_t>(id); });
  }

private:
  static constexpr size_t slots = 1 << 14;
  static constexpr size_t maxLength = 58, maxIds = 16;

  struct Entry {
    uint32_t owner = 0;
    uint8_t length = 0, count = 0;
    char text[maxLength];
    int32_t ids[maxIds];
  };
  static_assert(sizeof(Entry) == 128);

  static size_t slotOf(uint32_t owner, std::string_view word) {
    return (hashText(word) + owner * uint64_t(0x9E3779B1)) & (slots - 1);
  }

  std::unique_ptr<Entry[]> entries = std::make_unique<Entry[]>(slots);
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_WORDCACHE_H
