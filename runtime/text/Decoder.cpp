//===- Decoder.cpp - the field decoder of tokenizer.json ------------------===//
#include "runtime/text/Decoder.h"

#include "runtime/text/ByteLevel.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

using Tokens = std::vector<std::string>;

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  if (from.empty())
    return;
  size_t at = text.find(from);
  if (at == std::string::npos)
    return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(text, done);
  text = std::move(out);
}

void cleanUp(std::string &text) {
  if (text.find(' ') == std::string::npos)
    return;
  static constexpr std::pair<std::string_view, std::string_view> replacements[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[from, to] : replacements)
    replaceAll(text, from, to);
}

std::string joined(const Tokens &tokens) {
  size_t size = 0;
  for (const std::string &token : tokens)
    size += token.size();
  std::string text;
  text.reserve(size);
  for (const std::string &token : tokens)
    text += token;
  return text;
}

void step(const CharactersToBytes &, Tokens &tokens) {
  std::string bytes, storage;
  for (const std::string &token : tokens)
    if (!appendCharacterBytes(bytes, token))
      bytes += token;
  tokens = {std::string(validUtf8(bytes, storage))};
}

void step(const JoinWordPieces &join, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string &token = tokens[i];
    if (i > 0 && token.starts_with(join.prefix))
      token.erase(0, join.prefix.size());
    else if (i > 0)
      token.insert(0, 1, ' ');
    if (join.cleanUp)
      cleanUp(token);
  }
}

void step(const Metaspace &space, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    replaceAll(tokens[i], space.replacement, i > 0 || space.prepend == Metaspace::Never ? " " : "");
}

void step(const Fuse &, Tokens &tokens) { tokens = {joined(tokens)}; }

void step(const StripCharacter &strip, Tokens &tokens) {
  for (std::string &token : tokens) {
    std::string_view rest = token;
    for (size_t i = 0, at = 0; i < strip.start && !rest.empty(); ++i, at = 0) {
      if (nextCharacter(rest, at) != strip.character)
        break;
      rest.remove_prefix(at);
    }
    for (size_t i = 0; i < strip.stop && !rest.empty(); ++i) {
      size_t at = rest.size();
      if (previousCharacter(rest, at) != strip.character)
        break;
      rest = rest.substr(0, at);
    }
    if (rest.size() != token.size())
      token = std::string(rest);
  }
}

/// The byte of "<0xE2>"; -1: another token.
int fallbackByte(const std::string &token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return -1;
  auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  int high = digit(token[3]), low = digit(token[4]);
  if (token[3] == '+' && low >= 0) // Rust reads a sign, too
    return low;
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

void step(const JoinBytes &, Tokens &tokens) {
  Tokens out;
  out.reserve(tokens.size());
  std::string bytes;
  auto flush = [&] {
    if (bytes.empty())
      return;
    if (isUtf8(bytes))
      out.push_back(bytes);
    else
      out.insert(out.end(), bytes.size(), "\uFFFD");
    bytes.clear();
  };
  for (std::string &token : tokens) {
    if (int byte = fallbackByte(token); byte >= 0) {
      bytes += static_cast<char>(byte);
      continue;
    }
    flush();
    out.push_back(std::move(token));
  }
  flush();
  tokens = std::move(out);
}

void step(const Replace &replace, Tokens &tokens) {
  for (std::string &token : tokens) {
    if (!replace.regex) {
      replaceAll(token, replace.text, replace.content);
      continue;
    }
    std::string out;
    replace.apply(token, out);
    token = std::move(out);
  }
}

void step(const WordSuffix &word, Tokens &tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    replaceAll(tokens[i], word.suffix, i + 1 == tokens.size() ? "" : " ");
}

void step(const Ctc &ctc, Tokens &tokens) {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  Tokens out;
  for (std::string &token : tokens) {
    replaceAll(token, ctc.pad, "");
    if (ctc.cleanUp) {
      cleanUp(token);
      replaceAll(token, ctc.wordDelimiter, " ");
    }
    if (!token.empty())
      out.push_back(std::move(token));
  }
  tokens = std::move(out);
}

/// What Python's str.strip() takes off.
bool isStripped(char32_t c) { return isWhitespace(c) || (c >= 0x1C && c <= 0x1F); }

void step(const JoinPieces &join, Tokens &tokens) {
  std::string text;
  size_t start = 0; // of what stands behind the last special token
  bool spaceSeen = false;
  for (const std::string &token : tokens) {
    if (join.special.contains(token)) {
      text += token;
      text += ' ';
      start = text.size();
      spaceSeen = false;
      continue;
    }
    if (join.silent.contains(token))
      continue;
    std::string piece = token;
    bool first = join.dropsFirstSpace && !spaceSeen && text.size() == start;
    if (first && piece.starts_with(spaceMark) && !join.foreign.contains(piece)) {
      piece.erase(0, spaceMark.size());
      spaceSeen = !join.dropsAllSpaces;
    }
    replaceAll(piece, spaceMark, " ");
    text += piece;
  }
  std::string_view rest = text;
  for (size_t at = rest.size(); !rest.empty() && isStripped(previousCharacter(rest, at));)
    rest = rest.substr(0, at);
  for (size_t at = 0; !rest.empty() && isStripped(nextCharacter(rest, at)); at = 0)
    rest.remove_prefix(at);
  tokens = {std::string(rest)};
}

} // namespace

std::string Decoder::apply(std::vector<std::string> tokens) const {
  for (const DecoderStep &item : steps)
    std::visit([&](const auto &one) { step(one, tokens); }, item);
  return tokens.size() == 1 ? std::move(tokens[0]) : joined(tokens);
}

} // namespace transformer::runtime
