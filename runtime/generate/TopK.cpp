//===- TopK.cpp - torch.topk ----------------------------------------------===//
#include "runtime/generate/TopK.h"

#include <algorithm>
#include <cmath>

namespace transformer::runtime {

std::span<const size_t> TopK::operator()(std::span<const float> values, size_t k) {
  using Item = std::pair<float, size_t>;
  auto larger = [](const Item &a, const Item &b) { // a NaN than numbers, too
    return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
  };
  // What torch's topk_impl_loop does with libstdc++.
  bool few = k * 64 <= values.size();
  queue.clear();
  for (size_t i = 0; i < (few ? k : values.size()); ++i)
    queue.push_back({values[i], i});
  auto begin = queue.begin(), end = begin + std::ptrdiff_t(k);
  if (few) {
    // std::partial_sort of all values, of which only the heap is kept.
    std::make_heap(begin, end, larger);
    queue.emplace_back();
    begin = queue.begin(), end = begin + std::ptrdiff_t(k);
    constexpr size_t blockSize = 64; // without branches where it has nothing for the heap
    for (size_t first = k; first < values.size(); first += blockSize) {
      size_t last = std::min(first + blockSize, values.size());
      int any = 0;
      for (size_t i = first; i < last; ++i)
        any |= !(values[i] <= begin->first);
      for (size_t i = first; any && i < last; ++i)
        if (!(values[i] <= begin->first) && larger({values[i], i}, *begin)) {
          *end = {values[i], i};
          std::pop_heap(begin, end + 1, larger);
        }
    }
    std::sort_heap(begin, end, larger);
  } else {
    std::nth_element(begin, end - 1, queue.end(), larger);
    std::sort(begin, end - 1, larger);
  }
  indexes.clear();
  for (auto item = begin; item != end; ++item)
    indexes.push_back(item->second);
  return indexes;
}

} // namespace transformer::runtime
