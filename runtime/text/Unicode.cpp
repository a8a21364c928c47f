//===- Unicode.cpp - characters as Hugging Face's tokenizers see them -----===//
#include "runtime/text/Unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace transformer::runtime {
namespace {

struct Range {
  char32_t first, last;
};
struct Mapping {
  char32_t from;
  char32_t to[4]; // filled up with 0
};
struct ClassRange {
  char32_t first, last;
  int combiningClass;
};

#include "runtime/text/UnicodeDelta.inc"

template <typename Table> auto findRange(const Table &table, char32_t c) {
  auto found = std::partition_point(std::begin(table), std::end(table),
                                    [c](const auto &range) { return range.last < c; });
  return found != std::end(table) && found->first <= c ? found : nullptr;
}

template <typename Table> const Mapping *findMapping(const Table &table, char32_t c) {
  auto found = std::partition_point(std::begin(table), std::end(table),
                                    [c](const Mapping &item) { return item.from < c; });
  return found != std::end(table) && found->from == c ? found : nullptr;
}

void append(std::u32string &text, const Mapping &mapping) {
  for (char32_t c : mapping.to)
    if (c != 0)
      text += c;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

int combiningClass(char32_t c) {
  if (const ClassRange *differs = findRange(classDelta, c))
    return differs->combiningClass;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

/// Bytes of a sequence that starts with `lead`, and the allowed second bytes; 0: no lead byte.
int sequenceLength(unsigned char lead, unsigned char &low, unsigned char &high) {
  low = 0x80;
  high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF)
    return 2;
  if (lead >= 0xE0 && lead <= 0xEF) {
    low = lead == 0xE0 ? 0xA0 : low;   // overlong
    high = lead == 0xED ? 0x9F : high; // surrogates
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    low = lead == 0xF0 ? 0x90 : low;
    high = lead == 0xF4 ? 0x8F : high; // above U+10FFFF
    return 4;
  }
  return 0;
}

} // namespace

std::u32string decodeUtf8(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) {
      result += lead;
      continue;
    }
    unsigned char low, high;
    int length = sequenceLength(lead, low, high);
    char32_t c = lead & (0x7Fu >> length);
    int read = 1;
    for (; read < length && i < text.size(); ++read, ++i) {
      auto byte = static_cast<unsigned char>(text[i]);
      if (byte < low || byte > high)
        break;
      c = c << 6 | (byte & 0x3Fu);
      low = 0x80;
      high = 0xBF;
    }
    result += length != 0 && read == length ? c : U'\uFFFD';
  }
  return result;
}

void appendUtf8(std::string &text, char32_t c) {
  auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | c >> 6);
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | c >> 18);
    add(0x80 | (c >> 12 & 0x3F));
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  }
}

std::string encodeUtf8(std::u32string_view text) {
  std::string result;
  for (char32_t c : text)
    appendUtf8(result, c);
  return result;
}

bool isWhitespace(char32_t c) {
  if ((c >= 9 && c <= 13) || c == 0x85)
    return true;
  utf8proc_category_t k = category(c);
  bool white = k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP;
  return white != (findRange(spaceDelta, c) != nullptr);
}

bool isRemovedByClean(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r')
    return false;
  utf8proc_category_t k = category(c);
  bool removed = c == 0 || c == 0xFFFD || k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF ||
                 k == UTF8PROC_CATEGORY_CO;
  return removed != (findRange(removedDelta, c) != nullptr);
}

bool isBertPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  utf8proc_category_t k = category(c);
  bool punctuation = k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
  return punctuation != (findRange(punctuationDelta, c) != nullptr);
}

bool isNonspacingMark(char32_t c) {
  return (category(c) == UTF8PROC_CATEGORY_MN) != (findRange(markDelta, c) != nullptr);
}

bool isChinese(char32_t c) {
  static constexpr Range ranges[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                     {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                     {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return findRange(ranges, c) != nullptr;
}

bool isWordCharacter(char32_t c) {
  utf8proc_category_t k = category(c);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ND) || k == UTF8PROC_CATEGORY_NL ||
         k == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9);
}

void appendLower(std::u32string &text, char32_t c) {
  if (const Mapping *differs = findMapping(lowerDelta, c))
    append(text, *differs);
  else
    text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

std::u32string decompose(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (char32_t c : text) {
    if (c < 0xC0) {
      result += c;
    } else if (const Mapping *differs = findMapping(decompositionDelta, c)) {
      append(result, *differs);
    } else {
      utf8proc_int32_t parts[8];
      int boundary = 0;
      auto flags = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
      utf8proc_ssize_t count =
          utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8, flags, &boundary);
      for (utf8proc_ssize_t i = 0; i < count && i < 8; ++i)
        result += static_cast<char32_t>(parts[i]);
      if (count <= 0 || count > 8)
        result += c;
    }
  }
  // Canonical order: runs of marks (class not 0) by class, equal classes as they came.
  auto isStarter = [](char32_t c) { return c < 0x300 || combiningClass(c) == 0; };
  for (auto at = result.begin(); at != result.end();) {
    at = std::find_if_not(at, result.end(), isStarter);
    auto end = std::find_if(at, result.end(), isStarter);
    if (end - at > 1)
      std::stable_sort(
          at, end, [](char32_t a, char32_t b) { return combiningClass(a) < combiningClass(b); });
    at = end;
  }
  return result;
}

} // namespace transformer::runtime
