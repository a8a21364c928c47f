//===- Lexer.h - tokens of PTX ----------------------------------*- C++ -*-===//
#ifndef EMULATOR_PTX_LEXER_H
#define EMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <vector>

namespace emulator::ptx {

struct Token {
  enum Kind { Word, Integer, Float32, Float64, String, Punctuation, End };
  Kind kind = End;
  std::string text;  ///< a word with its dots: ld.global.b32, %tid.x, .reg
  int64_t value = 0; ///< the bits of a number
  int line = 0;

  bool is(const char *what) const { return kind <= Punctuation && kind != String && text == what; }
};

/// All tokens of a module, an End last.
std::vector<Token> tokensOf(const std::string &text);

} // namespace emulator::ptx

#endif // EMULATOR_PTX_LEXER_H
