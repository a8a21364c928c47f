//===- AttentionDistance.h - what scores have of a distance -----*- C++ -*-===//
#ifndef CODEGEN_CPU_NESTS_ATTENTIONDISTANCE_H
#define CODEGEN_CPU_NESTS_ATTENTIONDISTANCE_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// A vector of scores, in powers of two, plus position_bias: of keys from `distance` on from the
/// query.
Value addPositionBias(Emit &b, Value score, Value bias, Value head, Value distance);

/// The gradient of position_bias: the sum of the sequences' shares, in their order.
void sumBiasShares(Emit &b, Value shares, Value result);

/// Scores by distance of queries and of keys, and the column of a distance in both.
struct RelativeScores {
  Value ofQueries, ofKeys; // [Tq, heads * P], [Tk, kvHeads * P]; null: none
  Value columns;           // [N], N odd; null: there are neither
  int64_t heads, kvHeads;

  /// The first column of a head.
  Value firstColumn(Emit &b, Value scores, Value head, int64_t count) const;
  /// The column of a distance.
  Value columnOf(Emit &b, Value distance) const;
};

/// A query, and the keys of a vector of its scores.
struct ScoresAt {
  Value query, head, kvHead;
  Value key, lastKey; // the first one's row, and how far behind it the last one is
  Value distance;     // from the query to the first key
};

/// A vector of scores plus `factor` times query_scores and key_scores. A key behind the last one,
/// whose score is masked, is that one again.
Value addRelativeScores(Emit &b, Value score, const RelativeScores &scores, const ScoresAt &at,
                        Value factor);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_ATTENTIONDISTANCE_H
