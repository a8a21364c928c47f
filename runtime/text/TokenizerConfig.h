//===- TokenizerConfig.h - tokenizer_config.json and its like ---*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERCONFIG_H
#define TRANSFORMER_RUNTIME_TOKENIZERCONFIG_H

#include "runtime/text/TokenizerFiles.h"

#include <optional>
#include <vector>

namespace transformer::runtime {

/// A token that is found before all else, as a file describes it.
struct DescribedToken {
  std::string content;
  bool special = true;
  bool normalized = false; // looked for after normalisation
  bool singleWord = false, leftStrip = false, rightStrip = false;
  std::optional<int64_t> id; // that the file states
};

/// {"content": "<s>", "lstrip": false, ...}, or the content alone.
DescribedToken readDescribedToken(const TokenizerField &field, bool special);

/// What the files beside a SentencePiece model say: tokenizer_config.json, special_tokens_map.json,
/// added_tokens.json and config.json, each of which may be absent.
class TokenizerConfig {
public:
  explicit TokenizerConfig(const TokenizerFiles &files);

  /// The tokenizer's class in `transformers`, without "Fast" at its end; empty: no file says it.
  std::string className() const;

  /// Fields of tokenizer_config.json.
  TokenizerField fields() const { return {where, config}; }

  /// Where the class has tokens of its own: {{"eos_token", "</s>"}, ...}. A file may name others,
  /// or with null none.
  void setDefaults(std::initializer_list<std::pair<const char *, const char *>> tokens);

  /// The token that a key such as "eos_token" names; nullptr: none.
  const DescribedToken *named(std::string_view key) const;

  /// Tokens in the order in which they get ids: added_tokens_decoder's, named ones, then others.
  std::vector<DescribedToken> tokens(const std::vector<DescribedToken> &others) const;

  /// extra_special_tokens, or the same under its older name; `alsoOfMap`: of
  /// special_tokens_map.json, too.
  std::optional<std::vector<DescribedToken>> extra(bool alsoOfMap = false) const;

private:
  void readAdded(const TokenizerFiles &files);

  std::string where;
  Json config, model;
  Json mapExtra;                     // additional_special_tokens of special_tokens_map.json
  std::vector<DescribedToken> added; // by the ids that the files state
  std::vector<std::pair<std::string, DescribedToken>> namedTokens;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERCONFIG_H
