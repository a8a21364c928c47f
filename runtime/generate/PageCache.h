//===- PageCache.h - which pages hold whose keys and values -----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PAGECACHE_H
#define TRANSFORMER_RUNTIME_PAGECACHE_H

#include "runtime/execute/State.h"

#include <array>
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

  /// A new row of no positions: its number.
  int64_t open();
  /// A new row that continues another: its number.
  int64_t fork(int64_t row);
  /// `which[i]` becomes what `which[parents[i]]` was.
  void reorder(std::span<const int64_t> which, std::span<const int64_t> parents);
  /// Gives a row's pages and number back.
  void close(int64_t row);
  struct Extension {
    int64_t row, count; // how many more positions
  };
  /// Makes room for what a call is about to write. There must be pages left.
  void extend(std::span<const Extension> extensions);
  void extend(int64_t row, int64_t count) { extend(std::array{Extension{row, count}}); }

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

  struct Copy {
    int64_t from, to;
  };

  int64_t take();
  /// What a row has, with one user more.
  Row share(int64_t row);
  void drop(const Row &row);
  void copyPages(std::span<const Copy> copies);

  int64_t positions;
  State tensors;
  std::vector<size_t> states; // of the description
  std::vector<Row> rows;
  std::vector<int64_t> closed; // numbers that open() may give
  std::vector<int64_t> users;  // of each page: the rows that have it
  std::vector<int64_t> unused;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PAGECACHE_H
