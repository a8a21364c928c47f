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

#include "runtime/text/CompatibilityDelta.inc"
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
  if (c < 0x80)
    return (c >= 9 && c <= 13) || c == ' ';
  if (c == 0x85)
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

/// Canonical order: runs of marks (class not 0) by class, equal classes as they came.
static void sortMarks(std::u32string &text) {
  auto isStarter = [](char32_t c) { return c < 0x300 || combiningClass(c) == 0; };
  std::vector<std::pair<int, char32_t>> run;
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if_not(at, text.end(), isStarter);
    auto end = std::find_if(at, text.end(), isStarter);
    if (end - at > 1) {
      run.clear();
      std::transform(at, end, std::back_inserter(run),
                     [](char32_t c) { return std::pair(combiningClass(c), c); });
      std::stable_sort(run.begin(), run.end(),
                       [](const auto &a, const auto &b) { return a.first < b.first; });
      std::transform(run.begin(), run.end(), at, [](const auto &item) { return item.second; });
    }
    at = end;
  }
}

/// Appends what utf8proc makes of a character with the option `how`.
static void appendDecomposed(std::u32string &text, char32_t c, int how) {
  utf8proc_int32_t parts[32];
  int boundary = 0;
  auto flags = static_cast<utf8proc_option_t>(how | UTF8PROC_STABLE);
  utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 32, flags, &boundary);
  if (count <= 0 || count > 32)
    text += c;
  else
    text.append(parts, parts + count);
}

std::u32string decompose(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (char32_t c : text) {
    if (c < 0xC0)
      result += c;
    else if (const Mapping *differs = findMapping(decompositionDelta, c))
      append(result, *differs);
    else
      appendDecomposed(result, c, UTF8PROC_DECOMPOSE);
  }
  sortMarks(result);
  return result;
}

std::u32string decomposeCompatibly(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (char32_t c : text) {
    if (c < 0xA0)
      result += c;
    else if (const Mapping *differs = findMapping(compatibilityDelta, c))
      append(result, *differs);
    else
      appendDecomposed(result, c, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  sortMarks(result);
  return result;
}

/// The character that two compose to; 0: none.
static char32_t composed(char32_t first, char32_t second) {
  constexpr char32_t lead = 0x1100, vowel = 0x1161, tail = 0x11A7, syllable = 0xAC00;
  constexpr char32_t leads = 19, vowels = 21, tails = 28;
  if (first >= lead && first < lead + leads && second >= vowel && second < vowel + vowels)
    return syllable + ((first - lead) * vowels + second - vowel) * tails;
  if (first >= syllable && first < syllable + leads * vowels * tails)
    return (first - syllable) % tails == 0 && second > tail && second < tail + tails
               ? first + second - tail
               : 0;
  if (second < 0x300)
    return 0;
  utf8proc_int32_t pair[3] = {static_cast<utf8proc_int32_t>(first),
                              static_cast<utf8proc_int32_t>(second), 0};
  auto flags = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair, 2, flags) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

void compose(std::u32string &text) {
  constexpr size_t none = ~size_t(0);
  size_t end = 0, starter = none; // of what has been composed
  int last = 0;                   // the class of the character before
  for (char32_t c : text) {
    int order = c < 0x300 ? 0 : combiningClass(c);
    bool adjacent = starter != none && end == starter + 1;
    // A mark of the same class, or a starter between them, keeps a character from its starter.
    if (starter != none && (adjacent || (last != 0 && last < order)))
      if (char32_t both = composed(text[starter], c)) {
        text[starter] = both;
        continue;
      }
    if (order == 0)
      starter = end;
    last = order;
    text[end++] = c;
  }
  text.resize(end);
}

} // namespace transformer::runtime
