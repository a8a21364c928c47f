//===- Tokenizer.cpp - from text to ids -----------------------------------===//
#include "runtime/text/Tokenizer.h"

#include "runtime/base/Error.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {

const Vocabulary &Tokenizer::vocabulary() const {
  return std::visit([](const auto &one) -> const Vocabulary & { return one.vocab; }, model);
}

void Tokenizer::failUnknown() const {
  std::string token = "unk_id";
  if (const auto *wordPiece = std::get_if<WordPiece>(&model))
    token = wordPiece->unknownToken;
  else if (const auto *bpe = std::get_if<Bpe>(&model))
    token = bpe->unknownToken.value_or("");
  fail("{}: the vocabulary has no unknown token \"{}\"", name, printable(token));
}

std::vector<int64_t> Tokenizer::encodeText(const std::string &text) const {
  std::vector<int64_t> ids;
  std::string storage;
  std::string_view valid = validUtf8(text, storage);
  if (rawTokens.empty()) {
    encodeSection(valid, true, ids);
    return ids;
  }
  for (const TextPiece &raw : rawTokens.split(valid)) {
    if (raw.id >= 0)
      ids.push_back(raw.id);
    else
      encodeSection(raw.text, raw.text.data() == valid.data(), ids);
  }
  return ids;
}

/// Text between added tokens: normalises it. `atStart`: the text begins with it.
void Tokenizer::encodeSection(std::string_view text, bool atStart,
                              std::vector<int64_t> &ids) const {
  if (text.empty())
    return;
  if (languageCodes && text.starts_with(">>"))
    if (size_t end = text.find("<<"); end != std::string_view::npos) {
      int64_t id = idOf(std::string(text.substr(0, end + 2)));
      ids.push_back(id >= 0 ? id : *languageCodes);
      text.remove_prefix(end + 2);
    }
  NormalizedText normalized{{}, atStart};
  std::string_view rest = text;
  if (!normalizer.steps.empty()) {
    normalized.text = text;
    normalizer.apply(normalized);
    rest = normalized.text;
  }
  if (normalizedTokens.empty()) {
    encodePiece(rest, normalized.atStart, ids);
    return;
  }
  for (const TextPiece &piece : normalizedTokens.split(rest)) {
    if (piece.id >= 0)
      ids.push_back(piece.id);
    else
      encodePiece(piece.text, normalized.atStart && piece.text.data() == rest.data(), ids);
  }
}

/// Normalised text without added tokens.
void Tokenizer::encodePiece(std::string_view text, bool atStart, std::vector<int64_t> &ids) const {
  if (text.empty())
    return;
  Segments segments{text, {{0, text.size(), atStart}}, {}};
  preTokenizer.apply(segments);
  std::visit(
      [&](const auto &one) {
        for (const Segment &item : segments.items)
          if (!one.encode(segments.of(item), ids))
            failUnknown();
      },
      model);
}

bool Tokenizer::isSpecial(const std::string &token) const {
  return !token.empty() && specialStarts[static_cast<unsigned char>(token[0])] &&
         special.contains(token);
}

const std::string *Tokenizer::token(int64_t id, bool skipSpecial) const {
  auto found = added.find(id);
  const std::string *token = found != added.end() ? &found->second : vocabulary().token(id);
  return token && skipSpecial && isSpecial(*token) ? nullptr : token;
}

std::string Tokenizer::decode(const std::vector<int64_t> &ids, bool skipSpecial) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (int64_t id : ids)
    if (const std::string *text = token(id, skipSpecial))
      tokens.push_back(*text);
  if (decoder)
    return decoder->apply(std::move(tokens));
  return formatted("{}", fmt::join(tokens, " "));
}

int64_t Tokenizer::idOf(const std::string &token) const {
  auto found = addedIds.find(token);
  return found != addedIds.end() ? found->second : vocabulary().find(token);
}

void Tokenizer::truncate(const std::vector<TemplatePart> &parts, std::vector<int64_t> texts[2],
                         std::optional<int64_t> maxLength) const {
  if (!maxLength)
    maxLength = truncation.maxLength;
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
  if (truncation.strategy == Truncation::LongestFirst) {
    // Only the longer text is cut while it is longer, then both evenly; the odd token stays with
    // the one that was longer.
    int longer = lengths[0] > lengths[1] ? 0 : 1;
    size_t shorterLength = lengths[1 - longer];
    lengths[1 - longer] = std::min(shorterLength, room / 2);
    lengths[longer] = room - lengths[1 - longer];
  } else {
    int cut = truncation.strategy == Truncation::OnlyFirst ? 0 : 1;
    size_t drop = lengths[0] + lengths[1] - room;
    if (lengths[cut] <= drop && room > 0)
      fail("{}: the maximum length {} cannot be kept: only the {} text may be cut, which has {} "
           "tokens",
           name, *maxLength, cut == 0 ? "first" : "second", lengths[cut]);
    lengths[cut] -= std::min(lengths[cut], drop);
    lengths[1 - cut] = std::min(lengths[1 - cut], room);
  }
  for (int i = 0; i < 2; ++i) {
    size_t drop = texts[i].size() - std::min(texts[i].size(), lengths[i]);
    if (truncation.left)
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
