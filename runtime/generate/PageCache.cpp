//===- PageCache.cpp - which pages hold whose keys and values -------------===//
#include "runtime/generate/PageCache.h"

#include "runtime/base/Error.h"
#include "runtime/execute/ThreadPool.h"

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

int64_t PageCache::open() {
  if (closed.empty()) {
    rows.emplace_back();
    return int64_t(rows.size()) - 1;
  }
  int64_t row = closed.back();
  closed.pop_back();
  return row;
}

int64_t PageCache::fork(int64_t row) {
  int64_t other = open();
  rows[size_t(other)] = share(row);
  return other;
}

void PageCache::reorder(std::span<const int64_t> which, std::span<const int64_t> parents) {
  std::vector<Row> next;
  for (int64_t parent : parents)
    next.push_back(share(which[size_t(parent)]));
  for (size_t i = 0; i < which.size(); ++i)
    drop(std::exchange(rows[size_t(which[i])], std::move(next[i])));
}

void PageCache::close(int64_t row) {
  drop(std::exchange(rows[size_t(row)], {}));
  closed.push_back(row);
}

PageCache::Row PageCache::share(int64_t row) {
  for (int64_t page : rows[size_t(row)].pages)
    ++users[size_t(page)];
  return rows[size_t(row)];
}

void PageCache::extend(std::span<const Extension> extensions) {
  std::vector<Copy> copies;
  for (auto [row, count] : extensions) {
    Row &to = rows[size_t(row)];
    if (count > 0 && to.length % positions != 0 && users[size_t(to.pages.back())] > 1) {
      copies.push_back({to.pages.back(), take()});
      --users[size_t(to.pages.back())];
      to.pages.back() = copies.back().to;
    }
    while (int64_t(to.pages.size()) < pagesFor(to.length + count))
      to.pages.push_back(take());
    to.length += count;
  }
  copyPages(copies);
}

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

/// All threads take part: with many beams these are as many bytes as the weights of a few layers.
void PageCache::copyPages(std::span<const Copy> copies) {
  for (size_t state : states) // one page after the other where they lie
    if (tensors.isOnDevice(state)) {
      size_t bytes = size_t(tensors.bytes(state)) / users.size();
      for (auto [from, to] : copies)
        tensors.copyOnDevice(state, size_t(to) * bytes, size_t(from) * bytes, bytes);
    }
  if (states.empty() || tensors.isOnDevice(states.front()))
    return;
  parallelFor(int64_t(copies.size() * states.size()), [&](int64_t i) {
    auto [from, to] = copies[size_t(i) / states.size()];
    Tensor &tensor = tensors.tensor(states[size_t(i) % states.size()]);
    size_t bytes = size_t(tensor.bytes()) / users.size();
    std::memcpy(tensor.data<char>() + size_t(to) * bytes,
                tensor.data<char>() + size_t(from) * bytes, bytes);
  });
}

} // namespace transformer::runtime
