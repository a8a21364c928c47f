//===- Tokenizer.cpp - from text to ids -----------------------------------===//
#include "runtime/text/Tokenizer.h"

#include "runtime/base/Error.h"
#include "runtime/text/Unicode.h"

#include <algorithm>

namespace transformer::runtime {

std::vector<int64_t> Tokenizer::encodeText(const std::string &text) const {
  std::vector<int64_t> ids;
  std::u32string characters = decodeUtf8(text);
  for (const TextPiece &raw : rawTokens.split(characters)) {
    if (raw.id >= 0) {
      ids.push_back(raw.id);
      continue;
    }
    std::u32string normalized(raw.text);
    if (normalizer)
      normalized = normalizer->normalize(std::move(normalized));
    for (const TextPiece &piece : normalizedTokens.split(normalized)) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
        continue;
      }
      for (std::u32string_view word : splitWords(piece.text))
        if (!model.encode(word, ids))
          fail("{}: the vocabulary has no unknown token \"{}\"", name,
               printable(model.unknownToken));
    }
  }
  return ids;
}

void Tokenizer::truncate(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2],
                         std::optional<int64_t> maxLength) const {
  if (!maxLength)
    maxLength = limit;
  if (!maxLength)
    return;
  size_t special = 0;
  for (const TemplatePart &part : parts)
    special += part.ids.size();
  if (*maxLength < static_cast<int64_t>(special))
    fail("{}: the maximum length {} has no room for {} special tokens", name, *maxLength, special);
  size_t room = static_cast<size_t>(*maxLength) - special;
  size_t lengths[2] = {texts[0].size(), texts[1].size()};
  if (lengths[0] + lengths[1] <= room)
    return;
  // Longest first: only the longer text is cut while it is longer, then both evenly; the odd token
  // stays with the one that was longer.
  int longer = lengths[0] > lengths[1] ? 0 : 1;
  size_t shorterLength = lengths[1 - longer];
  lengths[1 - longer] = std::min(shorterLength, room / 2);
  lengths[longer] = room - lengths[1 - longer];
  for (int i = 0; i < 2; ++i) {
    size_t drop = texts[i].size() - std::min(texts[i].size(), lengths[i]);
    if (cutLeft)
      texts[i].erase(texts[i].begin(), texts[i].begin() + static_cast<std::ptrdiff_t>(drop));
    else
      texts[i].resize(texts[i].size() - drop);
  }
}

Encoding Tokenizer::assemble(const std::vector<TemplatePart> &parts,
                             std::vector<int64_t> texts[2]) const {
  Encoding result;
  for (const TemplatePart &part : parts) {
    const std::vector<int64_t> &ids = part.text < 0 ? part.ids : texts[part.text];
    result.ids.insert(result.ids.end(), ids.begin(), ids.end());
    result.types.insert(result.types.end(), ids.size(), part.type);
  }
  return result;
}

Encoding Tokenizer::encode(const std::string &text, std::optional<int64_t> maxLength) const {
  std::vector<int64_t> texts[2] = {encodeText(text), {}};
  truncate(single, texts, maxLength);
  return assemble(single, texts);
}

Encoding Tokenizer::encodePair(const std::string &first, const std::string &second,
                               std::optional<int64_t> maxLength) const {
  std::vector<int64_t> texts[2] = {encodeText(first), encodeText(second)};
  truncate(pair, texts, maxLength);
  return assemble(pair, texts);
}

} // namespace transformer::runtime
