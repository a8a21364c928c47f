//===- PreTokenizer.h - the field pre_tokenizer of tokenizer.json -*- C++ -*-=//
#ifndef TRANSFORMER_RUNTIME_PRETOKENIZER_H
#define TRANSFORMER_RUNTIME_PRETOKENIZER_H

#include "runtime/text/Regex.h"
#include "runtime/text/SplitPatterns.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace transformer::runtime {

/// A piece of a text, in bytes.
struct Segment {
  size_t begin, end;
  bool atStart; // it holds the first character of the text that came in
};

/// A text that is being taken apart. Segments are not empty and in order; what lies in none of
/// them is left out.
struct Segments {
  std::string_view text;
  std::vector<Segment> items;
  std::string storage; // of the text, once a step has changed it

  std::string_view of(const Segment &item) const {
    return text.substr(item.begin, item.end - item.begin);
  }
};

/// What becomes of the matches of a pattern.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// Cuts at every match of a text or a regular expression.
struct Split {
  std::string text;
  std::optional<Regex> regex;          // instead of the text
  std::optional<SplitPattern> pattern; // instead of both; then each match is a segment
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false; // matches are what is kept, what lies between them is cut at
};

/// A space in front, GPT-2's pattern, and each byte as its character.
struct SplitBytes {
  bool addPrefixSpace = true;
  bool usePattern = true;
  bool keepBytes = false; // for a model that reads them as they are
};

/// Spaces become another character, which starts words.
struct Metaspace {
  enum Scheme { Always, First, Never };
  std::string replacement; // one character
  Scheme prepend = Always;
  bool split = true;
};

/// Cuts at characters of a class.
struct SplitClass {
  enum Class { Whitespace, Punctuation, Numeric };
  Class at;
  SplitBehavior behavior;
};

/// Words of \w+ and of what is neither \w nor white space.
struct SplitWords {};

/// BERT's: at white space, with each punctuation character alone.
struct SplitBert {};

/// So many characters each.
struct SplitLength {
  size_t length;
};

using PreTokenizerStep =
    std::variant<Split, SplitBytes, Metaspace, SplitClass, SplitWords, SplitBert, SplitLength>;

/// Steps that are taken one after the other.
struct PreTokenizer {
  std::vector<PreTokenizerStep> steps;

  void apply(Segments &segments) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PRETOKENIZER_H
