//===- Regex.h - regular expressions of tokenizer.json ----------*- C++ -*-===//
//
// `tokenizers` runs them on Oniguruma with Ruby's syntax, this runtime on PCRE2.
// A pattern is rewritten where the two read it differently (RegexSyntax.cpp);
// what cannot be rewritten is an error.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_REGEX_H
#define TRANSFORMER_RUNTIME_REGEX_H

#include <memory>
#include <string>
#include <string_view>

namespace transformer::runtime {

/// A compiled pattern. Copies share it; may be used by several threads.
class Regex {
public:
  /// Throws Error that begins with `where` when the pattern is wrong or not supported.
  Regex(const std::string &where, const std::string &pattern);

  /// The first match in `text` (UTF-8) from `from` on: its begin and end. False: there is none.
  /// Throws Error when the search takes too many steps.
  bool find(std::string_view text, size_t from, size_t &begin, size_t &end) const;

private:
  std::string where;
  std::shared_ptr<void> code;
};

/// The pattern in PCRE2's syntax. Throws Error that begins with `where`.
std::string fromOniguruma(const std::string &where, std::string_view pattern);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_REGEX_H
