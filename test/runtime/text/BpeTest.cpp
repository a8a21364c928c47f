#include "runtime/text/Bpe.h"
#include "runtime/text/MergeQueue.h"

#include <gtest/gtest.h>

#include <random>

using namespace transformer::runtime;
using Ids = std::vector<int64_t>;

namespace {

Bpe model(const std::vector<const char *> &tokens,
          const std::vector<std::pair<const char *, const char *>> &merges) {
  Bpe bpe;
  for (const char *token : tokens)
    bpe.vocab.add(token, static_cast<int64_t>(bpe.vocab.size()));
  uint32_t rank = 0;
  for (const auto &[first, second] : merges)
    EXPECT_TRUE(bpe.addMerge(first, second, rank++));
  return bpe;
}

Ids encode(const Bpe &bpe, const std::string &text) {
  Ids ids;
  EXPECT_TRUE(bpe.encode(text, ids));
  return ids;
}

TEST(Bpe, MergesTheFirstLearntThenTheLeftmost) {
  Bpe bpe = model({"a", "b", "c", "ab", "bc", "abc", "aa"}, {{"b", "c"}, {"a", "bc"}, {"a", "a"}});
  bpe.finish(false);
  EXPECT_EQ(encode(bpe, "abc"), (Ids{5}));
  EXPECT_EQ(encode(bpe, "aaab"), (Ids{6, 0, 1}));
  EXPECT_EQ(encode(bpe, ""), (Ids{}));
}

TEST(Bpe, LongWordsAsShortOnes) {
  Bpe bpe = model({"a", "b", "aa", "aaaa", "ab"}, {{"a", "a"}, {"aa", "aa"}, {"a", "b"}});
  bpe.finish(false);
  for (size_t quads : {5u, 250u, 2500u}) { // looking at all, a heap, lists
    Ids expected(quads, 3);
    expected.push_back(2);
    expected.push_back(4);
    EXPECT_EQ(encode(bpe, std::string(4 * quads + 3, 'a') + "b"), expected);
  }
}

// Candidates come up at any time: of later ranks, of the one that is being merged, and before it.
TEST(Bpe, ListsOfCandidatesAsAHeap) {
  std::mt19937 random(1);
  MergeHeap heap;
  MergeLists lists(200);
  auto push = [&](uint32_t rank) {
    MergeCandidate candidate{rank, static_cast<uint32_t>(random() % 1000), rank + 7};
    heap.push(candidate);
    lists.push(candidate);
  };
  for (int i = 0; i < 500; ++i)
    push(random() % 200);
  int popped = 0;
  for (; !heap.empty(); ++popped) {
    ASSERT_FALSE(lists.empty());
    MergeCandidate expected = heap.pop(), found = lists.pop();
    EXPECT_EQ(found.order(), expected.order());
    EXPECT_EQ(found.id, expected.id);
    if (popped < 1000)
      for (uint32_t count = random() % 3; count > 0; --count)
        push(random() % 200);
  }
  EXPECT_TRUE(lists.empty());
  EXPECT_GT(popped, 1000);
}

// Looking at all pairs for each merge would take minutes.
TEST(Bpe, AWordOfAMegabyte) {
  Bpe bpe = model({"a", "b", "ab", "abab"}, {{"a", "b"}, {"ab", "ab"}});
  bpe.finish(false);
  std::string word;
  for (size_t i = 0; i < 1u << 18; ++i)
    word += "abab";
  EXPECT_EQ(encode(bpe, word), Ids(1u << 18, 3));
}

TEST(Bpe, UnknownCharacters) {
  Bpe bpe = model({"<unk>", "a", "<0xC3>", "<0xA9>"}, {});
  bpe.finish(false);
  EXPECT_EQ(encode(bpe, "éa"), (Ids{1})); // without an unknown token they are lost
  bpe.unknownToken = "<unk>";
  EXPECT_EQ(encode(bpe, "xya"), (Ids{0, 0, 1}));
  bpe.fuseUnknown = true;
  EXPECT_EQ(encode(bpe, "yxa"), (Ids{0, 1}));
  bpe.byteFallback = true;
  EXPECT_EQ(encode(bpe, "aé"), (Ids{1, 2, 3}));
  EXPECT_EQ(encode(bpe, "xxé"), (Ids{2, 3, 0})); // as in tokenizers, the unknown one comes last
  bpe.unknownToken = "missing";
  Ids ids;
  EXPECT_FALSE(bpe.encode("z", ids));
}

TEST(Bpe, PrefixAndSuffix) {
  Bpe bpe = model({"a", "b", "b</w>", "ab</w>"}, {{"a", "b</w>"}});
  bpe.suffix = "</w>";
  bpe.finish(false);
  EXPECT_EQ(encode(bpe, "ab"), (Ids{3}));
  Bpe prefixed = model({"a", "##b", "ab"}, {});
  prefixed.prefix = "##";
  EXPECT_TRUE(prefixed.addMerge("a", "##b", 0));
  prefixed.finish(false);
  EXPECT_EQ(encode(prefixed, "ab"), (Ids{2}));
}

TEST(Bpe, WordsThatAreTokens) {
  Bpe bpe = model({"a", "b", "ab"}, {});
  bpe.finish(false);
  EXPECT_EQ(encode(bpe, "ab"), (Ids{0, 1}));
  Bpe whole = model({"a", "b", "ab"}, {});
  whole.ignoreMerges = true;
  whole.finish(false);
  EXPECT_EQ(encode(whole, "ab"), (Ids{2}));
}

TEST(Bpe, CutsAtTheMark) {
  Bpe bpe =
      model({"\u2581", "a", "\u2581a", "\u2581\u2581"}, {{"\u2581", "\u2581"}, {"\u2581", "a"}});
  bpe.finish(false);
  EXPECT_EQ(encode(bpe, "\u2581a\u2581a"), (Ids{2, 2}));
  EXPECT_EQ(encode(bpe, "\u2581\u2581\u2581a\u2581"), (Ids{3, 2, 0}));
  Bpe crossing = model({"\u2581", "a", "a\u2581"}, {{"a", "\u2581"}});
  crossing.finish(false);
  EXPECT_EQ(encode(crossing, "\u2581a\u2581a"), (Ids{0, 2, 1}));
}

TEST(Bpe, BytesAsCharacters) {
  Bpe bpe;
  bpe.vocab.add("Ġa", 300);
  bpe.vocab.add("a", 97);
  bpe.vocab.add("Ġ", 32);
  bpe.vocab.add("<unk>", 0);
  bpe.addMerge("Ġ", "a", 0);
  bpe.unknownToken = "<unk>";
  bpe.finish(true);
  EXPECT_EQ(encode(bpe, " a"), (Ids{300}));
  EXPECT_EQ(encode(bpe, " \n"), (Ids{32, 0})); // not all bytes are known
  EXPECT_FALSE(bpe.addMerge("a", "x", 1));
}

} // namespace
