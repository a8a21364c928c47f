//===- Error.h - the one exception of the runtime ---------------*- C++ -*-===//
//
// Everything that can go wrong with a user's files, options or machine is
// thrown as an Error. Its message says what (file, tensor, field), what was
// expected and what was found; the command line prints it as `error: ...`.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_ERROR_H
#define TRANSFORMER_RUNTIME_ERROR_H

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace transformer::runtime {

/// A failure that the user can act on. The message has at most three lines.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// fmt::vformat, compiled once: a file that calls it itself compiles most of fmt again.
std::string formattedFrom(fmt::string_view format, fmt::format_args args);

/// What fmt::format gives.
template <typename... Args>
std::string formatted(fmt::format_string<Args...> format, Args &&...args) {
  return formattedFrom(format, fmt::make_format_args(args...));
}

/// Throws an Error with a message in fmt's format.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(formattedFrom(format, fmt::make_format_args(args...)));
}

/// Cuts text that comes from a file to a length fit for an error message and replaces bytes that
/// would disturb a terminal.
std::string printable(const std::string &text, size_t maxLength = 120);

/// "[2, 128]"; of a long shape the first sizes and how many there are.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_ERROR_H
