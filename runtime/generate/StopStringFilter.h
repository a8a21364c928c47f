//===- StopStringFilter.h - text up to a stop string ------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STOPSTRINGFILTER_H
#define TRANSFORMER_RUNTIME_STOPSTRINGFILTER_H

#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// Holds text back as long as it may become a stop string.
class StopStringFilter {
public:
  explicit StopStringFilter(std::vector<std::string> strings) : strings(std::move(strings)) {}

  /// What of the text so far is no part of a stop string and cannot become one. After a stop string
  /// nothing.
  std::string put(std::string_view text);

  /// Whether a stop string has come.
  bool stopped() const { return found; }

  /// What was held back and has become none. The filter is as new.
  std::string finish();

private:
  std::vector<std::string> strings;
  std::string held;
  bool found = false;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STOPSTRINGFILTER_H
