//===- PageCache.cpp - which pages hold whose keys and values -------------===//
#include "runtime/generate/PageCache.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace transformer::runtime {

int64_t PageCache::pagePositions(const Description &description, const EntryInfo &entry) {
  int64_t result = 0;
  for (size_t index : entry.states) {
    const StateInfo &info = description.states[index];
    bool paged = info.shape.size() == 3 && info.shape[0].name == "pages" &&
                 info.shape[1].name.empty() && info.shape[1].size % 2 == 0;
    if (!paged || (result && 2 * result != info.shape[1].size))
      fail("entry point \"{}\": state \"{}\": expected pages [pages, {}, width]", entry.name,
           info.name, result ? std::to_string(2 * result) : "2 * positions");
    result = info.shape[1].size / 2;
  }
  if (!result)
    fail("entry point \"{}\": expected states of keys and values, found none", entry.name);
  return result;
}

PageCache::PageCache(const Description &description, const EntryInfo &entry, int64_t numPages)
    : positions(pagePositions(description, entry)), tensors(description, {{"pages", numPages}}),
      states(entry.states), users(size_t(numPages)) {
  // The first ones are taken first.
  for (int64_t page = numPages; page > 0; --page)
    unused.push_back(page - 1);
}

void PageCache::begin(int64_t count) {
  for (const Row &row : rows)
    drop(row);
  rows.assign(size_t(count), {});
}

void PageCache::reorder(std::span<const int64_t> parents) {
  std::vector<Row> next;
  for (int64_t parent : parents) {
    next.push_back(rows[size_t(parent)]);
    for (int64_t page : next.back().pages)
      ++users[size_t(page)];
  }
  for (size_t i = 0; i < next.size(); ++i) {
    drop(rows[i]);
    rows[i] = std::move(next[i]);
  }
}

void PageCache::extend(int64_t row, int64_t count) {
  Row &to = rows[size_t(row)];
  if (count > 0 && to.length % positions != 0 && users[size_t(to.pages.back())] > 1) {
    int64_t page = take();
    copyPage(to.pages.back(), page);
    --users[size_t(to.pages.back())];
    to.pages.back() = page;
  }
  to.length += count;
  while (int64_t(to.pages.size()) < pagesFor(to.length))
    to.pages.push_back(take());
}

void PageCache::release(int64_t row) { drop(std::exchange(rows[size_t(row)], {})); }

Tensor PageCache::table(std::span<const int64_t> of) const {
  size_t longest = 0;
  for (int64_t row : of)
    longest = std::max(longest, rows[size_t(row)].pages.size());
  Tensor result(DataType::I64, {int64_t(of.size()), int64_t(longest)});
  auto *to = result.data<int64_t>();
  for (int64_t row : of) {
    const std::vector<int64_t> &pages = rows[size_t(row)].pages;
    std::fill(std::copy(pages.begin(), pages.end(), to), to + longest, 0);
    to += longest;
  }
  return result;
}

Tensor PageCache::lengths(std::span<const int64_t> of) const {
  Tensor result(DataType::I64, {int64_t(of.size())});
  std::transform(of.begin(), of.end(), result.data<int64_t>(),
                 [&](int64_t row) { return length(row); });
  return result;
}

int64_t PageCache::take() {
  if (unused.empty())
    fail("no page left for keys and values: expected at most {}", users.size());
  int64_t page = unused.back();
  unused.pop_back();
  users[size_t(page)] = 1;
  return page;
}

void PageCache::drop(const Row &row) {
  for (int64_t page : row.pages)
    if (--users[size_t(page)] == 0)
      unused.push_back(page);
}

void PageCache::copyPage(int64_t from, int64_t to) {
  for (size_t index : states) {
    Tensor &tensor = tensors.tensor(index);
    size_t bytes = size_t(tensor.bytes()) / users.size();
    std::memcpy(tensor.data<char>() + size_t(to) * bytes,
                tensor.data<char>() + size_t(from) * bytes, bytes);
  }
}

} // namespace transformer::runtime
