//===- Unigram.cpp - the likeliest pieces ---------------------------------===//
#include "runtime/text/Unigram.h"

#include "runtime/base/Error.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <limits>

namespace transformer::runtime {
namespace {

constexpr double unknownPenalty = 10;  // below the least likely piece
constexpr size_t keptSteps = 1u << 16; // of a thread's memory, from text to text

/// The best way to the end of a piece.
struct Step {
  double score = 0;
  uint32_t start = none;
  int32_t id = 0;
  static constexpr uint32_t none = ~uint32_t(0);
};

} // namespace

void Unigram::finish() {
  std::vector<ByteTrie::Item> items;
  for (const Vocabulary::Entry &entry : vocab.all())
    items.emplace_back(entry.token, static_cast<int32_t>(entry.id));
  trie.build(std::move(items));
  double least = std::numeric_limits<double>::infinity();
  for (double score : scores)
    least = std::min(least, score);
  unknownScore = least - unknownPenalty;
  for (unsigned byte = 0; byte < 256; ++byte)
    fallbackIds[byte] = vocab.find(formatted("<0x{:02X}>", byte));
}

bool Unigram::encode(std::string_view text, std::vector<int64_t> &ids) const {
  WordCache &cache = WordCache::get();
  if (cache.find(owner, text, ids))
    return true;
  size_t before = ids.size();
  if (!best(text, ids))
    return false;
  cache.store(owner, text, ids.data() + before, ids.size() - before);
  return true;
}

bool Unigram::best(std::string_view text, std::vector<int64_t> &ids) const {
  static thread_local std::vector<Step> steps;
  if (text.size() >= Step::none)
    fail("a text of {} bytes: expected less than 4 GiB", text.size());
  steps.assign(text.size() + 1, {});
  auto reach = [](Step &step, double score, size_t start, int64_t id) {
    if (step.start == Step::none || score > step.score)
      step = {score, static_cast<uint32_t>(start), static_cast<int32_t>(id)};
  };
  for (size_t at = 0; at < text.size();) {
    size_t start = at;
    nextCharacter(text, at);
    double score = steps[start].score;
    bool known = false; // the character alone is
    trie.eachPrefix(text.substr(start), [&](size_t length, int32_t id) {
      reach(steps[start + length], scores[static_cast<size_t>(id)] + score, start, id);
      known |= start + length == at;
    });
    if (known)
      continue;
    if (!unknownId)
      return false;
    reach(steps[at], unknownScore + score, start, *unknownId);
  }
  size_t before = ids.size();
  size_t unknownEnd = 0; // of unknown characters in a row, which are one piece
  static thread_local std::vector<int64_t> backwards;
  backwards.clear();
  auto flush = [&](size_t start) {
    if (unknownEnd == 0)
      return;
    unknown(text.substr(start, unknownEnd - start), ids);
    backwards.insert(backwards.end(), ids.rbegin(),
                     ids.rend() - static_cast<std::ptrdiff_t>(before));
    ids.resize(before);
    unknownEnd = 0;
  };
  for (size_t end = text.size(); end > 0; end = steps[end].start) {
    if (unknownId && steps[end].id == *unknownId) {
      unknownEnd = std::max(unknownEnd, end);
      continue;
    }
    flush(end);
    backwards.push_back(steps[end].id);
  }
  flush(0);
  ids.insert(ids.end(), backwards.rbegin(), backwards.rend());
  if (steps.capacity() > keptSteps)
    steps = {};
  return true;
}

/// A piece of characters that are not known: it may be a token all the same, else its bytes may be.
void Unigram::unknown(std::string_view text, std::vector<int64_t> &ids) const {
  if (int32_t id = trie.find(text); id >= 0) {
    ids.push_back(id);
    return;
  }
  auto idOf = [&](char byte) { return fallbackIds[static_cast<unsigned char>(byte)]; };
  if (byteFallback &&
      std::all_of(text.begin(), text.end(), [&](char byte) { return idOf(byte) >= 0; })) {
    for (char byte : text)
      ids.push_back(idOf(byte));
    return;
  }
  ids.push_back(*unknownId);
}

} // namespace transformer::runtime
