//===- StopStringFilter.cpp - text up to a stop string --------------------===//
#include "runtime/generate/StopStringFilter.h"

#include <algorithm>
#include <utility>

namespace transformer::runtime {

std::string StopStringFilter::put(std::string_view text) {
  if (found)
    return {};
  held += text;
  size_t stop = std::string::npos, safe = held.size();
  for (const std::string &string : strings) {
    stop = std::min(stop, held.find(string));
    // Its beginning may be the end of what there is.
    size_t from = held.size() - std::min(held.size(), string.size() - 1);
    while (from < safe && !string.starts_with(std::string_view(held).substr(from)))
      ++from;
    safe = std::min(safe, from);
  }
  found = stop != std::string::npos;
  if (found)
    safe = stop;
  std::string result = held.substr(0, safe);
  held.erase(0, found ? held.size() : safe);
  return result;
}

std::string StopStringFilter::finish() {
  found = false;
  return std::exchange(held, {});
}

} // namespace transformer::runtime
