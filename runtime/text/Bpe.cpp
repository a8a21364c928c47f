//===- Bpe.cpp - byte pair encoding ---------------------------------------===//
#include "runtime/text/Bpe.h"

#include "runtime/base/Error.h"
#include "runtime/text/ByteLevel.h"
#include "runtime/text/MergeQueue.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

constexpr size_t fewSymbols = 48;        // up to here looking at all pairs is fastest
constexpr size_t heapSymbols = 2048;     // up to here a heap is
constexpr size_t keptSymbols = 1u << 16; // of a thread's memory, from text to text

size_t slotOf(uint64_t pair, size_t slots) {
  return (pair * 0x9E3779B97F4A7C15 >> 32) & (slots - 1);
}

} // namespace

void Bpe::reserveMerges(size_t count) {
  size_t slots = 16;
  while (slots < 2 * count)
    slots *= 2;
  if (slots > merges.size())
    growMerges(slots);
}

void Bpe::growMerges(size_t slots) {
  std::vector<Merge> old(slots);
  old.swap(merges);
  for (const Merge &merge : old)
    if (merge.pair != ~uint64_t(0)) {
      size_t slot = slotOf(merge.pair, slots);
      while (merges[slot].pair != ~uint64_t(0))
        slot = (slot + 1) & (slots - 1);
      merges[slot] = merge;
    }
}

bool Bpe::addMerge(std::string_view first, std::string_view second, uint32_t rank) {
  int64_t a = vocab.find(first), b = vocab.find(second);
  std::string both(first);
  if (second.size() >= prefix.size())
    both += second.substr(prefix.size());
  int64_t id = vocab.find(both);
  if (a < 0 || b < 0 || id < 0)
    return false;
  reserveMerges(mergeCount + 1);
  uint64_t pair = static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b);
  size_t slot = slotOf(pair, merges.size());
  while (merges[slot].pair != ~uint64_t(0) && merges[slot].pair != pair)
    slot = (slot + 1) & (merges.size() - 1);
  mergeCount += merges[slot].pair != pair;
  ranks = std::max(ranks, rank + 1);
  merges[slot] = {pair, rank, static_cast<uint32_t>(id)};
  crossesMark |= second.starts_with(spaceMark) && !first.ends_with(spaceMark);
  return true;
}

void Bpe::finish(bool asBytes) {
  bytes = asBytes;
  reserveMerges(1);
  allBytes = true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string text;
    appendUtf8(text, byteCharacter(static_cast<unsigned char>(byte)));
    byteIds[byte] = vocab.find(text);
    allBytes &= byteIds[byte] >= 0;
    fallbackIds[byte] = vocab.find(formatted("<0x{:02X}>", byte));
  }
  allBytes &= bytes && prefix.empty() && suffix.empty();
  cutAtMark = !bytes && !crossesMark && !ignoreMerges && prefix.empty() && suffix.empty() &&
              vocab.find(spaceMark) >= 0;
}

const Bpe::Merge *Bpe::find(uint32_t first, uint32_t second) const {
  uint64_t pair = static_cast<uint64_t>(first) << 32 | second;
  size_t slot = slotOf(pair, merges.size());
  while (merges[slot].pair != pair) {
    if (merges[slot].pair == ~uint64_t(0))
      return nullptr;
    slot = (slot + 1) & (merges.size() - 1);
  }
  return &merges[slot];
}

bool Bpe::encode(std::string_view text, std::vector<int64_t> &ids) const {
  if (!cutAtMark)
    return word(text, ids);
  // No pair reaches from a character to a mark behind it: each such piece is a word of its own.
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (text.substr(end, spaceMark.size()) == spaceMark)
      end += spaceMark.size();
    end = std::min(text.find(spaceMark, end), text.size());
    if (!word(text.substr(at, end - at), ids))
      return false;
    at = end;
  }
  return true;
}

bool Bpe::word(std::string_view text, std::vector<int64_t> &ids) const {
  WordCache &cache = WordCache::get();
  if (cache.find(owner, text, ids))
    return true;
  static thread_local std::vector<uint32_t> found;
  found.clear();
  std::string characters;
  std::string_view inVocab = text;
  if (bytes && (ignoreMerges || !allBytes)) {
    appendByteCharacters(characters, text);
    inVocab = characters;
  }
  int64_t whole = ignoreMerges ? vocab.find(inVocab) : -1;
  if (whole >= 0) {
    found.push_back(static_cast<uint32_t>(whole));
  } else {
    if (allBytes)
      for (char byte : text)
        found.push_back(static_cast<uint32_t>(byteIds[static_cast<unsigned char>(byte)]));
    else if (!symbols(inVocab, found))
      return false;
    if (found.size() <= fewSymbols)
      mergeFew(found);
    else if (found.size() <= heapSymbols)
      mergeMany(found, MergeHeap());
    else
      mergeMany(found, MergeLists(ranks));
  }
  size_t before = ids.size();
  ids.insert(ids.end(), found.begin(), found.end());
  cache.store(owner, text, ids.data() + before, ids.size() - before);
  if (found.capacity() > keptSymbols)
    found = {};
  return true;
}

/// The tokens of single characters, of bytes, and unknown ones.
bool Bpe::symbols(std::string_view text, std::vector<uint32_t> &out) const {
  bool pendingUnknown = false; // the last one, which may take in the next
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    nextCharacter(text, at);
    if (!character(text, begin, at, out, pendingUnknown))
      return false;
  }
  return true;
}

bool Bpe::character(std::string_view text, size_t begin, size_t end, std::vector<uint32_t> &out,
                    bool &pendingUnknown) const {
  std::string_view plain = text.substr(begin, end - begin);
  std::string decorated;
  std::string_view token = plain;
  if ((begin > 0 && !prefix.empty()) || (end == text.size() && !suffix.empty())) {
    decorated = begin > 0 ? prefix : "";
    decorated += plain;
    if (end == text.size())
      decorated += suffix;
    token = decorated;
  }
  if (int64_t id = vocab.find(token); id >= 0) {
    out.push_back(static_cast<uint32_t>(id));
    pendingUnknown = false;
    return true;
  }
  auto fallback = [&](char byte) { return fallbackIds[static_cast<unsigned char>(byte)]; };
  if (byteFallback &&
      std::all_of(token.begin(), token.end(), [&](char byte) { return fallback(byte) >= 0; })) {
    // An unknown character before these bytes comes behind them, as in `tokenizers`.
    uint32_t unknown = pendingUnknown ? out.back() : 0;
    if (pendingUnknown)
      out.pop_back();
    for (char byte : token)
      out.push_back(static_cast<uint32_t>(fallback(byte)));
    if (pendingUnknown)
      out.push_back(unknown);
    return true;
  }
  if (!unknownToken)
    return true;
  int64_t unknown = vocab.find(*unknownToken);
  if (unknown < 0)
    return false;
  if (!pendingUnknown || !fuseUnknown)
    out.push_back(static_cast<uint32_t>(unknown));
  pendingUnknown = true;
  return true;
}

void Bpe::mergeFew(std::vector<uint32_t> &symbols) const {
  constexpr uint32_t none = ~uint32_t(0);
  uint32_t ranks[fewSymbols], results[fewSymbols]; // of each symbol and the next
  size_t count = symbols.size();
  auto look = [&](size_t i) {
    const Merge *merge = i + 1 < count ? find(symbols[i], symbols[i + 1]) : nullptr;
    ranks[i] = merge ? merge->rank : none;
    results[i] = merge ? merge->id : 0;
  };
  for (size_t i = 0; i < count; ++i)
    look(i);
  while (count > 1) {
    size_t best = static_cast<size_t>(std::min_element(ranks, ranks + count) - ranks);
    if (ranks[best] == none)
      break;
    symbols[best] = results[best];
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    look(best);
    if (best > 0)
      look(best - 1);
  }
  symbols.resize(count);
}

template <typename Queue> void Bpe::mergeMany(std::vector<uint32_t> &symbols, Queue queue) const {
  constexpr uint32_t none = ~uint32_t(0);
  auto count = static_cast<uint32_t>(symbols.size());
  // Of each symbol: its neighbours, and what it and the next become.
  std::vector<uint32_t> next(count), previous(count), results(count, none);
  for (uint32_t i = 0; i < count; ++i) {
    next[i] = i + 1 < count ? i + 1 : none;
    previous[i] = i - 1; // none for the first
  }
  auto look = [&](uint32_t at) {
    const Merge *merge = find(symbols[at], symbols[next[at]]);
    results[at] = merge ? merge->id : none;
    if (merge)
      queue.push({merge->rank, at, merge->id});
  };
  for (uint32_t i = 0; i + 1 < count; ++i)
    look(i);
  constexpr uint32_t gone = none - 1; // next of a symbol that was merged into the one before
  while (!queue.empty()) {
    MergeCandidate candidate = queue.pop();
    uint32_t at = candidate.at, right = next[at];
    if (right >= gone || results[at] != candidate.id) // the pair is another one by now
      continue;
    symbols[at] = candidate.id;
    next[at] = next[right];
    if (next[right] != none)
      previous[next[right]] = at;
    next[right] = gone;
    if (previous[at] != none)
      look(previous[at]);
    if (next[at] != none)
      look(at);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i != none; i = next[i])
    symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

} // namespace transformer::runtime
