//===- Lexer.cpp - tokens of PTX ------------------------------------------===//
#include "test/emulator/ptx/Lexer.h"

#include "test/emulator/Fault.h"

#include <bit>
#include <cctype>
#include <cstdlib>

namespace emulator::ptx {
namespace {

bool startsWord(char c) { return std::isalpha(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool continuesWord(char c) { return std::isalnum(c) || c == '_' || c == '$' || c == '.'; }

class Lexer {
public:
  explicit Lexer(const std::string &text) : text(text) {}

  Token next() {
    skip();
    Token token;
    token.line = line;
    if (at >= text.size() || text[at] == '\0')
      return token;
    size_t begin = at;
    char c = text[at];
    if (startsWord(c) && !(c == '.' && std::isdigit(peek(1))))
      word(token);
    else if (std::isdigit(c) || c == '.')
      number(token);
    else if (c == '"')
      string(token);
    else {
      token.kind = Token::Punctuation;
      ++at;
    }
    token.text = text.substr(begin, at - begin);
    return token;
  }

private:
  char peek(size_t ahead) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void skip() {
    while (at < text.size()) {
      if (text[at] == '\n')
        ++line, ++at;
      else if (std::isspace(text[at]))
        ++at;
      else if (text[at] == '/' && peek(1) == '/')
        at = std::min(text.find('\n', at), text.size());
      else if (text[at] == '/' && peek(1) == '*') {
        size_t end = std::min(text.find("*/", at + 2), text.size() - 2);
        for (; at < end + 2; ++at)
          line += text[at] == '\n';
      } else
        return;
    }
  }

  // "::" belongs to words such as shared::cluster.
  void word(Token &token) {
    token.kind = Token::Word;
    ++at;
    while (continuesWord(peek(0)) || (peek(0) == ':' && peek(1) == ':' && (at += 1)))
      ++at;
  }

  void string(Token &token) {
    token.kind = Token::String;
    at = std::min(text.find('"', at + 1), text.size() - 1) + 1;
  }

  void number(Token &token) {
    if (text[at] == '0' && std::tolower(peek(1)) == 'f')
      return bits(token, Token::Float32, 8);
    if (text[at] == '0' && std::tolower(peek(1)) == 'd')
      return bits(token, Token::Float64, 16);
    const char *begin = text.c_str() + at;
    char *end, *endOfFloat;
    token.kind = Token::Integer;
    token.value = static_cast<int64_t>(std::strtoull(begin, &end, 0));
    if (text[at] == '0' && std::tolower(peek(1)) == 'b')
      token.value = static_cast<int64_t>(std::strtoull(begin + 2, &end, 2));
    else if (std::tolower(peek(1)) != 'x')
      if (double value = std::strtod(begin, &endOfFloat); endOfFloat > end) {
        token.kind = Token::Float64;
        token.value = std::bit_cast<int64_t>(value);
        end = endOfFloat;
      }
    at += end - begin;
    while (peek(0) == 'U' || peek(0) == 'u' || peek(0) == 'L')
      ++at;
  }

  void bits(Token &token, Token::Kind kind, size_t digits) {
    token.kind = kind;
    std::string hex = text.substr(at + 2, digits);
    if (hex.size() < digits || hex.find_first_not_of("0123456789abcdefABCDEF") != hex.npos)
      throw Fault{Result::InvalidPtx,
                  emulator::text("line %d: 0%c%s: expected %d hexadecimal digits", line,
                                 text[at + 1], hex.c_str(), (int)digits)};
    token.value = static_cast<int64_t>(std::strtoull(hex.c_str(), nullptr, 16));
    at += 2 + digits;
  }

  const std::string &text;
  size_t at = 0;
  int line = 1;
};

} // namespace

std::vector<Token> tokensOf(const std::string &text) {
  Lexer lexer(text);
  std::vector<Token> tokens;
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != Token::End);
  return tokens;
}

} // namespace emulator::ptx
