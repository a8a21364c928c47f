//===- Vocabulary.cpp - tokens and their ids ------------------------------===//
#include "runtime/text/Vocabulary.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

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

size_t Vocabulary::slotOf(std::string_view token) const {
  size_t slot = hashText(token) & (slots.size() - 1);
  while (slots[slot] != 0 && entries[slots[slot] - 1].token != token)
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

void Vocabulary::grow(size_t count) {
  slots.assign(count, 0);
  for (size_t i = 0; i < entries.size(); ++i)
    slots[slotOf(entries[i].token)] = static_cast<uint32_t>(i + 1);
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
  size_t slot = slotOf(token);
  if (slots[slot] == 0) {
    entries.push_back({std::string(token), id});
    longestToken = std::max(longestToken, token.size());
    slots[slot] = static_cast<uint32_t>(entries.size());
  }
  entries[slots[slot] - 1].id = id;
  point(id, slots[slot]);
}

int64_t Vocabulary::find(std::string_view token) const {
  if (slots.empty())
    return -1;
  uint32_t entry = slots[slotOf(token)];
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
