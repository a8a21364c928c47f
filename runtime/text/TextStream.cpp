//===- TextStream.cpp - text of ids as they come --------------------------===//
#include "runtime/text/TextStream.h"

namespace transformer::runtime {
namespace {

constexpr std::string_view replacement = "\uFFFD";
// Ids that may wait for one behind which no character is cut, which then is the new start.
constexpr size_t maxWaiting = 256;

} // namespace

std::string TextStream::add(int64_t id) {
  if (!tokenizer.token(id, skipSpecial)) // it must not count as the one before the next
    return {};
  ids.push_back(id);
  std::string text = tokenizer.decode(ids, skipSpecial);
  // The bytes of a character may lie in several ids; until the last one is there they are U+FFFD.
  std::string_view whole = text;
  while (whole.ends_with(replacement))
    whole.remove_suffix(replacement.size());
  bool waits = text.size() <= told.size() || whole.size() < text.size();
  if (!waits || ids.size() - toldIds >= maxWaiting)
    whole = text;
  // Where the ids do not make up UTF-8, more of them can change what has been told.
  std::string result(whole.starts_with(told) ? whole.substr(told.size()) : "");
  told += result;
  if (waits && ids.size() - toldIds < maxWaiting)
    return result;
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
