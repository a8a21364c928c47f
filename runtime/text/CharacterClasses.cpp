//===- CharacterClasses.cpp - what regular expressions see ----------------===//
#include "runtime/text/CharacterClasses.h"

#include "runtime/text/Unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <memory>

namespace transformer::runtime {
namespace {

struct Range {
  char32_t first, last;
};

#include "runtime/text/CharacterClasses.inc"

template <typename Table> bool contains(const Table &table, char32_t c) {
  auto found = std::partition_point(std::begin(table), std::end(table),
                                    [c](const Range &range) { return range.last < c; });
  return found != std::end(table) && found->first <= c;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool isNumber(utf8proc_category_t k) {
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

CharacterKind computeKind(char32_t c) {
  utf8proc_category_t k = category(c);
  if ((k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) != contains(letterDelta, c))
    return CharacterKind::Letter;
  if (isNumber(k) != contains(numberDelta, c))
    return CharacterKind::Number;
  bool space =
      (c >= 9 && c <= 13) || c == 0x85 || (k >= UTF8PROC_CATEGORY_ZS && k <= UTF8PROC_CATEGORY_ZP);
  return space ? CharacterKind::Space : CharacterKind::Other;
}

constexpr char32_t tableEnd = 0x10000;

std::unique_ptr<CharacterKind[]> makeKinds() {
  auto table = std::make_unique<CharacterKind[]>(tableEnd);
  for (char32_t c = 0; c < tableEnd; ++c)
    table[c] = computeKind(c);
  return table;
}

} // namespace

CharacterKind kindOf(char32_t c) {
  static const std::unique_ptr<CharacterKind[]> kinds = makeKinds();
  return c < tableEnd ? kinds[c] : computeKind(c);
}

bool isNumeric(char32_t c) {
  if (c < 0x80)
    return c >= '0' && c <= '9';
  return isNumber(category(c)) != contains(numericDelta, c);
}

bool isCombiningMark(char32_t c) {
  utf8proc_category_t k = category(c);
  bool mark = k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME;
  return mark != contains(combiningMarkDelta, c);
}

char32_t graphemeStandIn(char32_t c) {
  if (!contains(graphemeDelta, c))
    return c;
  return utf8proc_grapheme_break('a', static_cast<utf8proc_int32_t>(c)) ? U'\u0301' : U'a';
}

bool isRegexWord(char32_t c) {
  if (c < 0x80)
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
  return isWordCharacter(c) != contains(regexWordDelta, c);
}

} // namespace transformer::runtime
