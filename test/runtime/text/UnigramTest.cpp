#include "runtime/text/Unigram.h"
#include "runtime/text/ByteTrie.h"

#include <gtest/gtest.h>

using namespace transformer::runtime;
using Ids = std::vector<int64_t>;

namespace {

Unigram model(const std::vector<std::pair<const char *, double>> &pieces) {
  Unigram unigram;
  for (const auto &[piece, score] : pieces) {
    unigram.vocab.add(piece, static_cast<int64_t>(unigram.scores.size()));
    unigram.scores.push_back(score);
  }
  unigram.unknownId = 0;
  return unigram;
}

Ids encode(const Unigram &unigram, const std::string &text) {
  Ids ids;
  EXPECT_TRUE(unigram.encode(text, ids));
  return ids;
}

TEST(Unigram, TheLikeliestPieces) {
  Unigram unigram = model({{"<unk>", 0},
                           {"a", 0},
                           {"b", 0},
                           {"c", 0},
                           {"d", 0},
                           {"cd", 1},
                           {"ab", 2},
                           {"abc", 5},
                           {"abcd", 10}});
  unigram.finish();
  EXPECT_EQ(encode(unigram, "abcdacd"), (Ids{8, 1, 5}));
  EXPECT_EQ(encode(unigram, "abcdacdxx"), (Ids{8, 1, 5, 0})); // unknown ones in a row are one
  EXPECT_EQ(encode(unigram, "xaéb"), (Ids{0, 1, 0, 2}));
  EXPECT_EQ(encode(unigram, ""), (Ids{}));
}

TEST(Unigram, AWordOfAMegabyte) {
  Unigram unigram = model({{"<unk>", -9}, {"a", -3}, {"aa", -4}, {"aaaa", -5}});
  unigram.finish();
  EXPECT_EQ(encode(unigram, std::string(1u << 20, 'a')), Ids(1u << 18, 3));
  EXPECT_EQ(encode(unigram, std::string(1u << 20, 'x')), (Ids{0}));
}

TEST(Unigram, UnknownPieces) {
  Unigram unigram = model({{"<unk>", 0}, {"a", -1}, {"<0xC3>", -2}, {"<0xA9>", -2}});
  unigram.byteFallback = true;
  unigram.finish();
  EXPECT_EQ(encode(unigram, "aé"), (Ids{1, 2, 3}));
  EXPECT_EQ(encode(unigram, "aéx"), (Ids{1, 0})); // x is no token, nor are its bytes
  EXPECT_EQ(encode(unigram, "<unk>"), (Ids{0}));
  unigram.unknownId.reset();
  Ids ids;
  EXPECT_FALSE(unigram.encode("y", ids));
}

TEST(ByteTrie, FindsEveryPrefix) {
  ByteTrie trie;
  std::vector<std::string> keys;
  for (int byte = 255; byte > 0; --byte)
    keys.push_back(std::string("k") + static_cast<char>(byte));
  std::vector<ByteTrie::Item> items{{"", 5}, {"a", 1}, {"abc", 2}, {"a", 3}};
  for (size_t i = 0; i < keys.size(); ++i)
    items.emplace_back(keys[i], static_cast<int32_t>(100 + i));
  trie.build(items);
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(trie.find(keys[i]), static_cast<int32_t>(100 + i));
  EXPECT_EQ(trie.find("a"), 3);
  EXPECT_EQ(trie.find("ab"), -1);
  EXPECT_EQ(trie.find(""), -1);
  std::vector<std::pair<size_t, int32_t>> found;
  trie.eachPrefix("abcd", [&](size_t length, int32_t value) { found.emplace_back(length, value); });
  EXPECT_EQ(found, (std::vector<std::pair<size_t, int32_t>>{{1, 3}, {3, 2}}));
}

} // namespace
