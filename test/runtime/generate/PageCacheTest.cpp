#include "runtime/generate/PageCache.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// Two layers, pages of two positions and width 1.
Description describe(int64_t secondRows = 4) {
  return parseDescription("test",
                          formatted(R"({{"parameters": [], "slots": [],
    "states": [{{"name": "cache.0", "dtype": "f32", "shape": ["pages", 4, 1]}},
               {{"name": "cache.1", "dtype": "f32", "shape": ["pages", {}, 1]}}],
    "entries": [{{"name": "step", "function": 0, "states": [0, 1], "inputs": [], "outputs": []}}]}})",
                                    secondRows),
                          1);
}

class PageCacheTest : public testing::Test {
protected:
  /// What a call would do: writes a number at a row's last position, in every layer.
  void write(int64_t row, float value) {
    std::vector<int64_t> pages = pagesOf(row);
    int64_t at = cache.length(row) - 1;
    for (size_t layer : {0, 1})
      cache.state().tensor(layer).data<float>()[4 * pages[size_t(at / 2)] + at % 2] =
          value + float(layer);
  }
  std::vector<int64_t> pagesOf(int64_t row) {
    return valuesOf<int64_t>(cache.table(std::array{row}));
  }
  std::vector<float> read(int64_t row, size_t layer) {
    std::vector<float> values;
    std::vector<int64_t> pages = pagesOf(row);
    for (int64_t at = 0; at < cache.length(row); ++at)
      values.push_back(
          cache.state().tensor(layer).data<float>()[4 * pages[size_t(at / 2)] + at % 2]);
    return values;
  }
  void append(int64_t row, float value) {
    cache.extend(row, 1);
    write(row, value);
  }

  Description description = describe();
  PageCache cache{description, description.entries[0], 6};
};

TEST_F(PageCacheTest, OnlyTheLastPageIsCopied) {
  cache.begin(2);
  for (float value : {10, 20, 30})
    append(0, value);
  EXPECT_EQ(cache.freePages(), 4);
  cache.reorder(std::array<int64_t, 2>{0, 0});
  EXPECT_EQ(cache.freePages(), 4);
  EXPECT_EQ(pagesOf(0), pagesOf(1));
  append(0, 40); // into a copy
  EXPECT_EQ(cache.freePages(), 3);
  append(1, 50); // its own by now
  EXPECT_EQ(cache.freePages(), 3);
  EXPECT_EQ(pagesOf(0)[0], pagesOf(1)[0]);
  EXPECT_NE(pagesOf(0)[1], pagesOf(1)[1]);
  EXPECT_EQ(read(0, 0), (std::vector<float>{10, 20, 30, 40}));
  EXPECT_EQ(read(0, 1), (std::vector<float>{11, 21, 31, 41}));
  EXPECT_EQ(read(1, 0), (std::vector<float>{10, 20, 30, 50}));
  EXPECT_EQ(read(1, 1), (std::vector<float>{11, 21, 31, 51}));
  // A full last page is shared and stays as it is.
  cache.reorder(std::array<int64_t, 2>{1, 1});
  EXPECT_EQ(cache.freePages(), 4);
  append(0, 60);
  append(1, 70);
  EXPECT_EQ(cache.freePages(), 2);
  EXPECT_EQ(read(0, 0), (std::vector<float>{10, 20, 30, 50, 60}));
  EXPECT_EQ(read(1, 0), (std::vector<float>{10, 20, 30, 50, 70}));
}

TEST_F(PageCacheTest, PagesComeBack) {
  cache.begin(3);
  cache.extend(0, 5);
  cache.extend(1, 2);
  cache.extend(2, 3);
  EXPECT_EQ(cache.freePages(), 0);
  EXPECT_EQ(errorOf([&] { cache.extend(1, 1); }),
            "no page left for keys and values: expected at most 6");
  cache.release(0);
  EXPECT_EQ(cache.freePages(), 3);
  EXPECT_EQ(cache.length(0), 0);
  cache.reorder(std::array<int64_t, 3>{1, 1, 1});
  EXPECT_EQ(cache.freePages(), 5);
  cache.begin(1);
  EXPECT_EQ(cache.freePages(), 6);
}

TEST_F(PageCacheTest, RowsBehindTheParentsStay) {
  cache.begin(3);
  append(1, 10);
  append(2, 20); // a source
  cache.reorder(std::array<int64_t, 2>{1, 1});
  EXPECT_EQ(read(0, 0), std::vector<float>{10});
  EXPECT_EQ(read(2, 0), std::vector<float>{20});
  EXPECT_EQ(cache.freePages(), 4);
}

TEST_F(PageCacheTest, TablesOfSomeRows) {
  cache.begin(3);
  cache.extend(0, 1);
  cache.extend(2, 3);
  Tensor table = cache.table(std::array<int64_t, 2>{2, 0});
  EXPECT_EQ(table.shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf<int64_t>(table), (std::vector<int64_t>{1, 2, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>(cache.lengths(std::array<int64_t, 2>{2, 0})),
            (std::vector<int64_t>{3, 1}));
}

TEST(PageCache, WhatStatesMustBe) {
  Description other = describe(6);
  EXPECT_EQ(errorOf([&] { PageCache(other, other.entries[0], 1); }),
            "entry point \"step\": state \"cache.1\": expected pages [pages, 4, width]");
  Description none = describe();
  none.entries[0].states.clear();
  EXPECT_EQ(errorOf([&] { PageCache(none, none.entries[0], 1); }),
            "entry point \"step\": expected states of keys and values, found none");
}

} // namespace
