#include "runtime/text/Unicode.h"

#include <gtest/gtest.h>

using namespace transformer::runtime;

namespace {

TEST(Unicode, DecodesAndEncodes) {
  for (char32_t c : {U'a', U'\u00e9', U'\u4e2d', U'\uffff', U'\U0001F600', U'\U0010FFFF'}) {
    std::string text;
    appendUtf8(text, c);
    EXPECT_EQ(decodeUtf8(text), std::u32string(1, c));
  }
}

TEST(Unicode, InvalidBytesAsInPython) {
  const std::u32string r(1, U'\uFFFD');
  EXPECT_EQ(decodeUtf8("a\x80z"), U"a" + r + U"z");
  EXPECT_EQ(decodeUtf8("\xC0\xAF"), r + r); // overlong
  EXPECT_EQ(decodeUtf8("\xE2\x82"), r);     // cut off: one
  EXPECT_EQ(decodeUtf8("\xE2\x82z"), r + U"z");
  EXPECT_EQ(decodeUtf8("\xED\xA0\x80"), r + r + r); // a surrogate
  EXPECT_EQ(decodeUtf8("\xF0\x9F\x98"), r);
  EXPECT_EQ(decodeUtf8("\xF4\x90\x80\x80"), r + r + r + r); // above U+10FFFF
  EXPECT_EQ(decodeUtf8("\xFF"), r);
}

TEST(Unicode, LowerCaseIsByCharacter) {
  auto lower = [](std::u32string_view text) {
    std::u32string result;
    for (char32_t c : text)
      appendLower(result, c);
    return result;
  };
  EXPECT_EQ(lower(U"ÀΣ"), U"àσ"); // no final sigma
  EXPECT_EQ(lower(U"İ"), U"i\u0307");
  EXPECT_EQ(lower(U"\U00010D50"), U"\U00010D70"); // newer than utf8proc
}

TEST(Unicode, Decomposes) {
  EXPECT_EQ(decompose(U"é"), U"e\u0301");
  EXPECT_EQ(decompose(U"한"), U"\u1112\u1161\u11AB");
  EXPECT_EQ(decompose(U"a\u0301\u0316"), U"a\u0316\u0301"); // by combining class
  EXPECT_EQ(decompose(U"ﬁ"), U"ﬁ");                         // compatibility only
}

TEST(Unicode, Classes) {
  EXPECT_TRUE(isWhitespace(U'\u3000'));
  EXPECT_TRUE(isWhitespace(U'\u0085'));
  EXPECT_FALSE(isWhitespace(U'\u200B'));
  EXPECT_TRUE(isRemovedByClean(U'\u200B'));
  EXPECT_TRUE(isRemovedByClean(U'\uE000'));
  EXPECT_FALSE(isRemovedByClean(U'\t'));
  EXPECT_FALSE(isRemovedByClean(U'\u0378')); // unassigned
  EXPECT_TRUE(isBertPunctuation(U'$'));
  EXPECT_FALSE(isBertPunctuation(U'€'));
  EXPECT_TRUE(isBertPunctuation(U'。'));
  EXPECT_FALSE(isBertPunctuation(U'\u2E52')); // newer than the crate's tables
  EXPECT_TRUE(isNonspacingMark(U'\u0301'));
  EXPECT_FALSE(isNonspacingMark(U'\u1ABF'));
  EXPECT_TRUE(isChinese(U'中'));
  EXPECT_FALSE(isChinese(U'あ'));
  EXPECT_TRUE(isWordCharacter(U'_'));
  EXPECT_FALSE(isWordCharacter(U'-'));
}

} // namespace
