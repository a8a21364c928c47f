//===- Stopping.cpp - when a sequence ends --------------------------------===//
#include "runtime/generate/Stopping.h"

#include "runtime/base/Error.h"

#include <algorithm>

namespace transformer::runtime {

Stopping::Stopping(const GenerationConfig &config, TokenBytes bytes)
    : eos(config.eosTokenId), strings(config.stopStrings), bytesOf(std::move(bytes)) {
  for (const std::string &string : strings)
    longest = std::max(longest, string.size());
  if (!strings.empty() && !bytesOf)
    fail("stop_strings: expected a tokenizer that knows the tokens' text, found none");
}

bool Stopping::operator()(std::span<const int64_t> tokens, int64_t maxLength) {
  return int64_t(tokens.size()) >= maxLength ||
         std::find(eos.begin(), eos.end(), tokens.back()) != eos.end() ||
         completesStopString(tokens);
}

bool Stopping::completesStopString(std::span<const int64_t> tokens) {
  if (strings.empty())
    return false;
  // Of the text before the last token as much as a stop string can have, from the tokens that
  // transformers looks at: as many as the longest one has bytes. It is gathered from its end.
  std::string_view last = bytesOf(tokens.back());
  tail.clear();
  size_t first = tokens.size() - std::min(tokens.size(), longest);
  for (size_t i = tokens.size() - 1; i > first && tail.size() + 1 < longest; --i) {
    std::string_view bytes = bytesOf(tokens[i - 1]);
    tail.append(bytes.rbegin(), bytes.rend());
  }
  std::reverse(tail.begin(), tail.end());
  size_t before = tail.size();
  tail += last;
  // One that ends in the last token.
  return std::any_of(strings.begin(), strings.end(), [&](const std::string &string) {
    size_t from = before + 1 - std::min(before + 1, string.size());
    return tail.find(string, from) != std::string::npos;
  });
}

} // namespace transformer::runtime
