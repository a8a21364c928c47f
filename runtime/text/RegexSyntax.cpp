//===- RegexSyntax.cpp - from Oniguruma's syntax to PCRE2's ---------------===//
#include "runtime/base/Error.h"
#include "runtime/text/Regex.h"
#include "runtime/text/Utf8.h"

namespace transformer::runtime {
namespace {

// What the classes mean in Oniguruma with UTF-8, as the inside of a class. PCRE2's \s has U+180E,
// its \w no marks but the number letters.
constexpr std::string_view space =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";
constexpr std::string_view hexDigit = "0-9A-Fa-f";

/// Characters that Oniguruma's Unicode has and PCRE2's may not have, by category.
struct NewerRange {
  char32_t first, last;
  std::string_view category;
};

#include "runtime/text/RegexNewer.inc"

/// \p{L} and the like, with what is newer, as the inside of a class.
std::string category(std::string_view name) {
  std::string inside = formatted("\\p{{{}}}", name);
  for (const NewerRange &range : newerRanges)
    if (range.category.starts_with(name))
      inside += formatted("\\x{{{:x}}}-\\x{{{:x}}}", static_cast<uint32_t>(range.first),
                          static_cast<uint32_t>(range.last));
  return inside;
}

const std::string &word() {
  static const std::string inside = category("L") + category("M") + category("Nd") + category("Pc");
  return inside;
}

class Rewriter {
public:
  Rewriter(const std::string &where, std::string_view pattern) : where(where), pattern(pattern) {}

  std::string rewrite() {
    while (at < pattern.size()) {
      char c = pattern[at];
      if (c == '[') {
        characterClass();
      } else if (c == '\\') {
        escape(/*inClass=*/false);
      } else if (c == '{' && isInterval()) {
        interval();
      } else {
        out += c;
        ++at;
      }
    }
    return std::move(out);
  }

private:
  [[noreturn]] void unsupported(std::string_view what) const {
    fail("{}: regular expression \"{}\" is not supported: {}", where,
         printable(std::string(pattern)), what);
  }

  /// The name in \p{L}, if it is a category's.
  std::string_view categoryName(char escaped) const {
    if ((escaped != 'p' && escaped != 'P') || at >= pattern.size() || pattern[at] != '{')
      return {};
    std::string_view name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
    bool known = name.size() == 1 || name.size() == 2;
    return known && std::string_view("LMNPS").find(name[0]) != std::string_view::npos
               ? name
               : std::string_view();
  }

  void escape(bool inClass) {
    if (at + 1 >= pattern.size())
      unsupported("\\ at its end");
    char c = pattern[at + 1];
    at += 2;
    std::string inside;
    switch (c | 0x20) { // the capital negates
    case 's':
      inside = space;
      break;
    case 'w':
      inside = word();
      break;
    case 'd':
      inside = category("Nd");
      break;
    case 'h':
      inside = hexDigit;
      break;
    }
    std::string_view name = categoryName(c);
    if (!name.empty()) {
      inside = category(name);
      at += name.size() + 2;
    }
    if (inside.empty()) {
      if (std::string_view("XRKGyYkgCO").find(c) != std::string_view::npos && !inClass)
        unsupported(formatted("\\{}", c));
      out += {'\\', c};
      return;
    }
    bool negated = c >= 'A' && c <= 'Z';
    if (!inClass)
      out += formatted("[{}{}]", negated ? "^" : "", inside);
    else if (!negated)
      out += inside;
    else if (c == 'P')
      out += formatted("\\P{{{}}}", name);
    else if (c == 'S' || c == 'D')
      out += {'\\', c};
    else
      unsupported(formatted("\\{} in a class", c));
  }

  /// A class in a class adds to it; PCRE2 has none.
  void characterClass(bool nested = false) {
    ++at;
    bool negated = at < pattern.size() && pattern[at] == '^';
    if (negated && nested)
      unsupported("a negated class in a class");
    at += negated;
    if (!nested)
      out += negated ? "[^" : "[";
    if (at < pattern.size() && pattern[at] == ']') { // first, it is a character
      out += "\\]";
      ++at;
    }
    while (at < pattern.size() && pattern[at] != ']') {
      std::string_view rest = pattern.substr(at);
      if (rest.substr(0, 2) == "[:") {
        size_t end = std::min(rest.find(":]"), rest.size() - 2) + 2;
        out += rest.substr(0, end);
        at += end;
      } else if (rest[0] == '[') {
        characterClass(/*nested=*/true);
      } else if (rest[0] == '\\') {
        escape(/*inClass=*/true);
      } else if (rest.substr(0, 2) == "&&") {
        unsupported("&& in a class");
      } else {
        out += rest[0];
        ++at;
      }
    }
    if (at >= pattern.size())
      unsupported("a class without ]");
    ++at;
    if (!nested)
      out += ']';
  }

  bool isInterval() const {
    size_t end = pattern.find_first_not_of("0123456789,", at + 1);
    return end != std::string_view::npos && end > at + 1 && pattern[end] == '}';
  }

  /// {2,5}; {,5} is {0,5}, and a + behind it repeats rather than holds on.
  void interval() {
    size_t end = pattern.find('}', at);
    std::string_view inside = pattern.substr(at + 1, end - at - 1);
    at = end + 1;
    bool repeated = at < pattern.size() && pattern[at] == '+';
    if (repeated)
      unsupported("+ behind an interval");
    out += formatted("{{{}{}}}", inside[0] == ',' ? "0" : "", inside);
  }

  const std::string &where;
  std::string_view pattern;
  size_t at = 0;
  std::string out;
};

} // namespace

std::string fromOniguruma(const std::string &where, std::string_view pattern) {
  return Rewriter(where, pattern).rewrite();
}

} // namespace transformer::runtime
