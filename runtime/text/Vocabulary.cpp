//===- Vocabulary.cpp - tokens and their ids ------------------------------===//
#include "runtime/text/Vocabulary.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

uint32_t tagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

constexpr int64_t denseIds = int64_t(1) << 22; // more than any vocabulary has

} // namespace

void Vocabulary::reserve(size_t count) {
  entries.reserve(count);
  size_t wanted = 16;
  while (wanted < 2 * count)
    wanted *= 2;
  if (wanted > slots.size())
    grow(wanted);
}

size_t Vocabulary::slotOf(std::string_view token, uint64_t hash) const {
  auto isOther = [&](Slot slot) {
    return slot.entry != 0 && (slot.tag != tagOf(hash) || entries[slot.entry - 1].token != token);
  };
  size_t slot = hash & (slots.size() - 1);
  while (isOther(slots[slot]))
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

void Vocabulary::grow(size_t count) {
  slots.assign(count, {});
  for (size_t i = 0; i < entries.size(); ++i) {
    uint64_t hash = hashText(entries[i].token);
    slots[slotOf(entries[i].token, hash)] = {tagOf(hash), static_cast<uint32_t>(i + 1)};
  }
}

void Vocabulary::point(int64_t id, uint32_t entry) {
  if (id < 0 || id >= denseIds) {
    distant[id] = entry;
    return;
  }
  auto index = static_cast<size_t>(id);
  if (index >= byId.size())
    byId.resize(index + 1 + index / 2);
  byId[index] = entry;
}

void Vocabulary::add(std::string_view token, int64_t id) {
  if (2 * (entries.size() + 1) > slots.size())
    grow(slots.empty() ? 16 : 2 * slots.size());
  uint64_t hash = hashText(token);
  Slot &slot = slots[slotOf(token, hash)];
  if (slot.entry == 0) {
    entries.push_back({std::string(token), id});
    longestToken = std::max(longestToken, token.size());
    slot = {tagOf(hash), static_cast<uint32_t>(entries.size())};
  }
  entries[slot.entry - 1].id = id;
  point(id, slot.entry);
}

int64_t Vocabulary::find(std::string_view token) const {
  if (slots.empty())
    return -1;
  uint32_t entry = slots[slotOf(token, hashText(token))].entry;
  return entry == 0 ? -1 : entries[entry - 1].id;
}

const std::string *Vocabulary::token(int64_t id) const {
  uint32_t entry = 0;
  if (id >= 0 && id < static_cast<int64_t>(byId.size())) {
    entry = byId[static_cast<size_t>(id)];
  } else if (auto found = distant.find(id); found != distant.end()) {
    entry = found->second;
  }
  return entry == 0 ? nullptr : &entries[entry - 1].token;
}

} // namespace transformer::runtime
