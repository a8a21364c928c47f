//===- ByteTrie.h - prefixes of a text that are known -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BYTETRIE_H
#define TRANSFORMER_RUNTIME_BYTETRIE_H

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace transformer::runtime {

/// A map from byte strings to numbers that finds all keys at a place of a text in one walk.
/// Built once; the children of a node are numbered one after the other, in the order of their
/// bytes.
class ByteTrie {
public:
  using Item = std::pair<std::string_view, int32_t>; // key, value of 0 or more

  ByteTrie() { build({}); }

  /// Replaces the contents. Of equal keys the last counts; an empty key is left out.
  void build(std::vector<Item> items);

  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = ~uint32_t(0);

  /// The node behind `byte`, or none.
  uint32_t child(uint32_t node, unsigned char byte) const {
    if (node == root)
      return ofRoot[byte];
    uint32_t first = nodes[node].firstChild, last = nodes[node + 1].firstChild;
    while (last - first > 8) {
      uint32_t middle = first + (last - first) / 2;
      if (labels[middle] <= byte)
        first = middle;
      else
        last = middle;
    }
    for (; first < last; ++first)
      if (labels[first] == byte)
        return first;
    return none;
  }

  /// The value of the key that ends at a node; -1: none does.
  int32_t value(uint32_t node) const { return nodes[node].value; }

  /// Calls visit(length, value) for each key that `text` starts with, the shortest first.
  template <typename Visit> void eachPrefix(std::string_view text, Visit visit) const {
    uint32_t node = root;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == none)
        return;
      if (nodes[node].value >= 0)
        visit(i + 1, nodes[node].value);
    }
  }

  /// The value of `key`; -1: not known.
  int32_t find(std::string_view key) const;

private:
  struct Node {
    uint32_t firstChild;
    int32_t value;
  };
  std::vector<Node> nodes; // and one at the end, whose firstChild ends the last one's children
  std::vector<unsigned char> labels; // the byte before each node
  uint32_t ofRoot[256];
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BYTETRIE_H
