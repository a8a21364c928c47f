//===- Charsmap.h - SentencePiece's normalisation ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CHARSMAP_H
#define TRANSFORMER_RUNTIME_CHARSMAP_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transformer::runtime {

/// A `precompiled_charsmap`: a double array of the character sequences that are replaced, and their
/// replacements.
class Charsmap {
public:
  /// `data`: the size of the array in bytes, the array, the replacements, each with a zero byte at
  /// its end. Throws Error that begins with `where`.
  Charsmap(const std::string &where, std::string_view data);
  Charsmap(const Charsmap &) = delete;

  /// Appends `text`, normalised as `tokenizers` does, by grapheme clusters, to `out`.
  void normalize(std::string_view text, std::string &out) const;

  /// What the longest sequence that `text` starts with is replaced by, and its length in bytes.
  std::optional<std::string_view> longest(std::string_view text, size_t &length) const;

private:
  template <typename Visit> void eachKey(std::string_view text, Visit visit) const;
  std::optional<std::string_view> replacementOf(std::string_view chunk) const;
  void cluster(std::string_view text, std::string &out) const;

  std::vector<uint32_t> array;
  std::string replacements;
  std::optional<std::string_view> ofAscii[128];
};

/// The bytes that a text stands for in base64; nothing when it is none.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CHARSMAP_H
