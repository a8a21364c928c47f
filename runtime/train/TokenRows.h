//===- TokenRows.h - rows of tokens of any length ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENROWS_H
#define TRANSFORMER_RUNTIME_TOKENROWS_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace transformer::runtime {

/// Rows one behind the other, four bytes a token.
class TokenRows {
public:
  size_t count() const { return ends.size(); }
  size_t tokens() const { return ids.size(); }

  std::span<const int32_t> operator[](size_t row) const {
    size_t begin = row > 0 ? ends[row - 1] : 0;
    return {ids.data() + begin, ends[row] - begin};
  }

  /// `row` holds values of 32 bits.
  void add(std::span<const int64_t> row) {
    for (int64_t id : row)
      ids.push_back(int32_t(id));
    ends.push_back(ids.size());
  }

  void append(const TokenRows &other) {
    for (size_t end : other.ends)
      ends.push_back(ids.size() + end);
    ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  }

  /// Cuts all tokens anew into rows of `length`; the last one has the rest.
  void cut(size_t length) {
    ends.clear();
    for (size_t end = 0; end < ids.size();)
      ends.push_back(end = std::min(end + length, ids.size()));
  }

private:
  std::vector<int32_t> ids;
  std::vector<size_t> ends;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENROWS_H
