//===- MergeQueue.h - the pairs of a word that may be merged ----*- C++ -*-===//
//
// Byte pair encoding takes them in the order of their rank, then of their place.
// In a heap a word takes n log n steps, with a memory access each beyond the
// caches; long words take a list a rank instead, which is linear: nearly all
// pairs that come up while others are merged rank behind these.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_MERGEQUEUE_H
#define TRANSFORMER_RUNTIME_MERGEQUEUE_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

namespace transformer::runtime {

/// The symbol at `at` and the next one become `id`.
struct MergeCandidate {
  uint32_t rank, at, id;

  uint64_t order() const { return uint64_t(rank) << 32 | at; }
  bool operator<(const MergeCandidate &other) const { // the first is the largest
    return order() > other.order();
  }
};

/// For short words.
class MergeHeap {
public:
  bool empty() const { return heap.empty(); }
  void push(const MergeCandidate &candidate) { heap.push(candidate); }

  /// The first one; the queue is not empty.
  MergeCandidate pop() {
    MergeCandidate first = heap.top();
    heap.pop();
    return first;
  }

private:
  std::priority_queue<MergeCandidate> heap;
};

/// For long words: a list of places for each rank below `ranks`.
class MergeLists {
public:
  explicit MergeLists(uint32_t ranks) : lists(ranks), waiting((ranks + 63) / 64) {}

  bool empty() const { return count == 0; }

  void push(const MergeCandidate &candidate) {
    ++count;
    if (candidate.rank <= rank)
      return late.push(candidate);
    List &list = lists[candidate.rank];
    uint32_t node = unused;
    if (node == none) {
      node = static_cast<uint32_t>(nodes.size());
      nodes.emplace_back();
    } else {
      unused = nodes[node].before;
    }
    nodes[node] = {candidate.at, list.last};
    list = {node, candidate.id};
    waiting[candidate.rank / 64] |= uint64_t(1) << candidate.rank % 64;
  }

  /// The first one; the queue is not empty.
  MergeCandidate pop() {
    --count;
    if (next == places.size() && late.empty())
      takeList();
    if (next < places.size()) {
      MergeCandidate first{static_cast<uint32_t>(rank), places[next], id};
      if (late.empty() || late.top() < first) {
        ++next;
        return first;
      }
    }
    MergeCandidate first = late.top();
    late.pop();
    return first;
  }

private:
  static constexpr uint32_t none = ~uint32_t(0);
  struct Node {
    uint32_t at, before; // the node that came in before it
  };
  struct List {
    uint32_t last = none, id = 0;
  };

  /// The places of the lowest rank, which is above `rank`, in order.
  void takeList() {
    size_t word = static_cast<size_t>(rank + 1) / 64;
    while (!waiting[word])
      ++word;
    rank = static_cast<int64_t>(word * 64) + std::countr_zero(waiting[word]);
    waiting[word] &= waiting[word] - 1;
    List &list = lists[static_cast<size_t>(rank)];
    id = list.id;
    places.clear();
    next = 0;
    while (list.last != none) {
      Node &node = nodes[list.last];
      places.push_back(node.at);
      uint32_t before = node.before;
      node.before = unused;
      unused = list.last;
      list.last = before;
    }
    std::reverse(places.begin(), places.end());
    if (!std::is_sorted(places.begin(), places.end()))
      std::sort(places.begin(), places.end());
  }

  std::vector<List> lists;       // by rank, all above `rank`
  std::vector<uint64_t> waiting; // a bit a rank: its list is not empty
  std::vector<Node> nodes;
  uint32_t unused = none; // the first node of no list
  // What is being merged: the places of one rank, and what came up of this rank or one before it.
  int64_t rank = -1;
  uint32_t id = 0;
  std::vector<uint32_t> places;
  size_t next = 0;
  std::priority_queue<MergeCandidate> late;
  size_t count = 0; // of all
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MERGEQUEUE_H
