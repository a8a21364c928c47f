//===- Stopping.h - when a sequence ends ------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_STOPPING_H
#define TRANSFORMER_RUNTIME_STOPPING_H

#include "runtime/generate/GenerationConfig.h"

#include <functional>
#include <span>
#include <string_view>

namespace transformer::runtime {

/// The bytes that a token adds to a text. Views live as long as the function.
using TokenBytes = std::function<std::string_view(int64_t)>;

/// Ends a sequence at an end-of-sequence token, at its greatest length, or when a token completes a
/// stop string, as transformers' EosTokenCriteria, MaxLengthCriteria and StopStringCriteria.
class Stopping {
public:
  /// `bytes` is asked only when there are stop strings; Error when it is needed and empty.
  explicit Stopping(const GenerationConfig &config, TokenBytes bytes = {});

  /// Whether a sequence ends with the last of its tokens. There is at least one.
  bool operator()(std::span<const int64_t> tokens, int64_t maxLength);

private:
  bool completesStopString(std::span<const int64_t> tokens);

  std::vector<int64_t> eos;
  std::vector<std::string> strings;
  size_t longest = 0; // bytes of a stop string
  TokenBytes bytesOf;
  std::string tail;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STOPPING_H
