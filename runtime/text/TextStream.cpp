//===- TextStream.cpp - text of ids as they come --------------------------===//
#include "runtime/text/TextStream.h"

namespace transformer::runtime {
namespace {

constexpr std::string_view replacement = "\uFFFD";
// Ids that may wait: a character has four bytes, each at most a token, and a token may
// have no text.
constexpr size_t maxWaiting = 16;

} // namespace

std::string TextStream::add(int64_t id) {
  if (!tokenizer.token(id, skipSpecial)) // it must not count as the one before the next
    return {};
  ids.push_back(id);
  std::string text = tokenizer.decode(ids, skipSpecial);
  bool waits = text.size() <= told.size() || text.ends_with(replacement);
  if (waits && ids.size() - toldIds < maxWaiting)
    return {};
  // Where the ids do not make up UTF-8, more of them can change what has been told.
  std::string result = text.starts_with(told) ? text.substr(told.size()) : "";
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(toldIds));
  told = tokenizer.decode(ids, skipSpecial);
  toldIds = ids.size();
  return result;
}

std::string TextStream::finish() {
  std::string text = tokenizer.decode(ids, skipSpecial);
  std::string result = text.starts_with(told) ? text.substr(told.size()) : "";
  ids.clear();
  told.clear();
  toldIds = 0;
  return result;
}

} // namespace transformer::runtime
