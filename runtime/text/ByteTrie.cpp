//===- ByteTrie.cpp - prefixes of a text that are known -------------------===//
#include "runtime/text/ByteTrie.h"

#include <algorithm>
#include <iterator>

namespace transformer::runtime {

void ByteTrie::build(std::vector<Item> items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item &a, const Item &b) { return a.first < b.first; });
  struct Span { // items of a node
    size_t begin, end, depth;
  };
  std::vector<Span> spans{{0, items.size(), 0}};
  nodes.clear();
  labels.assign(1, 0);
  for (size_t node = 0; node < spans.size(); ++node) {
    auto [begin, end, depth] = spans[node];
    int32_t value = -1;
    for (; begin < end && items[begin].first.size() == depth; ++begin)
      if (depth > 0)
        value = items[begin].second;
    nodes.push_back({static_cast<uint32_t>(spans.size()), value});
    while (begin < end) {
      char byte = items[begin].first[depth];
      size_t next = begin;
      while (next < end && items[next].first[depth] == byte)
        ++next;
      spans.push_back({begin, next, depth + 1});
      labels.push_back(static_cast<unsigned char>(byte));
      begin = next;
    }
  }
  nodes.push_back({static_cast<uint32_t>(spans.size()), -1});
  std::fill(std::begin(ofRoot), std::end(ofRoot), none);
  for (uint32_t node = nodes[0].firstChild; node < nodes[1].firstChild; ++node)
    ofRoot[labels[node]] = node;
}

int32_t ByteTrie::find(std::string_view key) const {
  uint32_t node = root;
  for (char byte : key) {
    node = child(node, static_cast<unsigned char>(byte));
    if (node == none)
      return -1;
  }
  return value(node);
}

} // namespace transformer::runtime
