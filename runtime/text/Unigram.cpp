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
  Pieces pieces;
  for (const Vocabulary::Entry &entry : vocab.all())
    pieces.emplace_back(entry.token, static_cast<int32_t>(entry.id));
  finish(std::move(pieces));
}

void Unigram::finish(Pieces pieces) {
  trie.build(std::move(pieces));
  double lowest = std::numeric_limits<double>::infinity();
  for (double score : scores)
    lowest = std::min(lowest, score);
  unknownScore = least ? *least - static_cast<float>(unknownPenalty) : lowest - unknownPenalty;
  for (unsigned byte = 0; byte < 256; ++byte)
    fallbackIds[byte] = vocab.find(formatted("<0x{:02X}>", byte));
}

bool Unigram::encode(std::string_view text, std::vector<int64_t> &out) const {
  WordCache &cache = WordCache::get();
  if (cache.find(owner, text, out))
    return true;
  size_t before = out.size();
  if (!best(text, out))
    return false;
  cache.store(owner, text, out.data() + before, out.size() - before);
  return true;
}

bool Unigram::best(std::string_view text, std::vector<int64_t> &out) const {
  static thread_local std::vector<Step> steps;
  if (text.size() >= Step::none)
    fail("a text of {} bytes: expected less than 4 GiB", text.size());
  steps.assign(text.size() + 1, {});
  auto kept = [this](double score) { return ids.empty() ? score : static_cast<float>(score); };
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
      reach(steps[start + length], kept(scores[static_cast<size_t>(id)] + score), start, id);
      known |= start + length == at;
    });
    if (known)
      continue;
    if (!unknownId)
      return false;
    reach(steps[at], kept(unknownScore + score), start, *unknownId);
  }
  size_t before = out.size();
  size_t unknownEnd = 0; // of unknown characters in a row, which are one piece
  static thread_local std::vector<int64_t> backwards;
  backwards.clear();
  auto flush = [&](size_t start) {
    if (unknownEnd == 0)
      return;
    unknown(text.substr(start, unknownEnd - start), out);
    backwards.insert(backwards.end(), out.rbegin(),
                     out.rend() - static_cast<std::ptrdiff_t>(before));
    out.resize(before);
    unknownEnd = 0;
  };
  for (size_t end = text.size(); end > 0; end = steps[end].start) {
    if (unknownId && steps[end].id == *unknownId) {
      unknownEnd = std::max(unknownEnd, end);
      continue;
    }
    flush(end);
    backwards.push_back(idOf(steps[end].id));
  }
  flush(0);
  out.insert(out.end(), backwards.rbegin(), backwards.rend());
  if (steps.capacity() > keptSteps)
    steps = {};
  return true;
}

/// A piece of characters that are not known: it may be a token all the same, else its bytes may be.
void Unigram::unknown(std::string_view text, std::vector<int64_t> &out) const {
  if (int64_t id = ids.empty() ? trie.find(text) : vocab.find(text); id >= 0) {
    out.push_back(id);
    return;
  }
  auto fallback = [&](char byte) { return fallbackIds[static_cast<unsigned char>(byte)]; };
  if (byteFallback &&
      std::all_of(text.begin(), text.end(), [&](char byte) { return fallback(byte) >= 0; })) {
    for (char byte : text)
      out.push_back(fallback(byte));
    return;
  }
  out.push_back(idOf(*unknownId));
}

} // namespace transformer::runtime
