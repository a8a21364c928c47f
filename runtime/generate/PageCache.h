//===- PageCache.h - which pages hold whose keys and values -----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PAGECACHE_H
#define TRANSFORMER_RUNTIME_PAGECACHE_H

#include "runtime/execute/State.h"

#include <cstdint>
#include <span>
#include <vector>

namespace transformer::runtime {

/// The pages of a step's state and the rows that own them. A row that continues another has its
/// pages, too; only one that is written to while others have it is copied, and that is at most the
/// last one of a row.
class PageCache {
public:
  /// Of the states of `entry`, each `[pages, 2 * positions, width]`, `numPages` pages. Throws Error
  /// when they have another form or there is not enough memory.
  PageCache(const Description &description, const EntryInfo &entry, int64_t numPages);

  /// How many positions a page has.
  int64_t pagePositions() const { return positions; }
  /// The pages that so many positions need.
  int64_t pagesFor(int64_t length) const { return (length + positions - 1) / positions; }
  static int64_t pagePositions(const Description &description, const EntryInfo &entry);

  State &state() { return tensors; }

  /// `count` rows of no positions.
  void begin(int64_t count);
  /// Of the first rows, as many as there are parents, row i becomes what row parents[i] was; the
  /// others stay.
  void reorder(std::span<const int64_t> parents);
  /// Makes room for `count` more positions of a row, which a call is about to write. There must be
  /// pages left.
  void extend(int64_t row, int64_t count);
  /// Gives a row's pages back.
  void release(int64_t row);

  int64_t length(int64_t row) const { return rows[size_t(row)].length; }
  int64_t freePages() const { return int64_t(unused.size()); }

  /// The inputs of a call for some rows: `page_table` and `key_lengths`.
  Tensor table(std::span<const int64_t> of) const;
  Tensor lengths(std::span<const int64_t> of) const;

private:
  struct Row {
    std::vector<int64_t> pages;
    int64_t length = 0;
  };

  int64_t take();
  void drop(const Row &row);
  void copyPage(int64_t from, int64_t to);

  int64_t positions;
  State tensors;
  std::vector<size_t> states; // of the description
  std::vector<Row> rows;
  std::vector<int64_t> users; // of each page: the rows that have it
  std::vector<int64_t> unused;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PAGECACHE_H
