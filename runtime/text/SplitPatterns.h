//===- SplitPatterns.h - the patterns that most files have ------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SPLITPATTERNS_H
#define TRANSFORMER_RUNTIME_SPLITPATTERNS_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace transformer::runtime {

/// Patterns that are matched by hand: each takes a text apart without gaps.
enum class SplitPattern {
  Gpt2,   // GPT-2's, which ByteLevel has built in
  Llama3, // and GPT-4's
  Qwen2,  // the same with numbers of one digit
};

/// Which of them a pattern is, if it is one.
std::optional<SplitPattern> knownPattern(std::string_view pattern);

/// The end of the match of `pattern` that starts at text[at], at < text.size(), in UTF-8.
size_t matchEnd(SplitPattern pattern, std::string_view text, size_t at);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SPLITPATTERNS_H
