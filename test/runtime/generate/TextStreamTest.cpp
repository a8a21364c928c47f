#include "runtime/generate/TextStream.h"
#include "runtime/text/Unicode.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

TEST(Utf8Stream, WholeCharactersOnly) {
  Utf8Stream stream;
  EXPECT_EQ(stream.put("a\xC3"), "a");
  EXPECT_EQ(stream.put("\xA9"), "\u00e9");
  EXPECT_EQ(stream.put("\xF0"), "");
  EXPECT_EQ(stream.put("\x9F\x98"), "");
  EXPECT_EQ(stream.put("\x80!"), "\U0001F600!");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.put("\xE2\x82"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.put("b"), "b");
}

// In pieces of any kind the text is what it is in one piece.
TEST(Utf8Stream, PiecesMakeNoDifference) {
  const std::string texts[] = {"a\u00e9\u20ac\U0001F600z", "\xFF\xC3(\xE2\x82(\xF0\x9F\x98",
                               "\xE0\x80\x80\xED\xA0\x80", "\xF4\x90\x80\x80\xC0\xAF\x80\xBF",
                               "\xF0\x9F\xE2\x82\xAC\xC3"};
  for (const std::string &text : texts)
    for (size_t cut = 0; cut <= text.size(); ++cut)
      for (size_t size = 1; size <= 3; ++size) {
        Utf8Stream stream;
        std::string all = stream.put(text.substr(0, cut));
        for (size_t i = cut; i < text.size(); i += size)
          all += stream.put(text.substr(i, size));
        all += stream.finish();
        EXPECT_EQ(all, encodeUtf8(decodeUtf8(text))) << cut << " " << size;
      }
}

TEST(StopStringFilter, HoldsBackWhatMayStop) {
  StopStringFilter filter({"END", "\n\n"});
  EXPECT_EQ(filter.put("text E"), "text ");
  EXPECT_EQ(filter.put("N"), "");
  EXPECT_EQ(filter.put("T\n"), "ENT");
  EXPECT_FALSE(filter.stopped());
  EXPECT_EQ(filter.put("x EEN"), "\nx E");
  EXPECT_EQ(filter.put("D more"), "");
  EXPECT_TRUE(filter.stopped());
  EXPECT_EQ(filter.put("more"), "");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_EQ(filter.put("E"), "");
  EXPECT_EQ(filter.finish(), "E");
}

TEST(StopStringFilter, TheEarliestCounts) {
  StopStringFilter filter({"abcd", "bc", "cx"});
  EXPECT_EQ(filter.put("1a"), "1");
  EXPECT_EQ(filter.put("bcx"), "a");
  EXPECT_TRUE(filter.stopped());
}

} // namespace
