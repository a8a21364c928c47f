//===- AttentionScores.h - what a query and a key have in common -*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ATTENTIONSCORES_H
#define CODEGEN_GPU_NESTS_ATTENTIONSCORES_H

#include "codegen/gpu/nests/Loops.h"
#include <functional>

namespace mlir::transformer::simt {

/// A number of a buffer, which may be of 16 bits, as f32.
inline Value loadFloat(Loops &b, Value buffer, ValueRange at) {
  Value x = b.load(buffer, at);
  return kernel::isHalf(x.getType()) ? arith::ExtFOp::create(b, b.getF32Type(), x).getResult() : x;
}

/// To the nearest bf16 or f16, ties to even; a NaN stays one. Null: as it is.
Value roundTo(Loops &b, FloatType type, Value x);
/// The logarithm of the power of 2 above exp(x): numbers over it are rounded as they are alone.
Value logOfPower(Loops &b, Value x);

/// A row of keys or values: `[..., column]` of a buffer.
struct Place {
  Value buffer;
  Values at; // all but the column
  Value load(Loops &b, Value column) const {
    Values indices = at;
    indices.push_back(column);
    return loadFloat(b, buffer, indices);
  }
};

/// The keys and values that a sequence's queries see.
struct Keys {
  Value count;
  std::function<std::pair<Place, Place>(Value j)> find; // of one of them
};

/// The scores of an op that attends; forward and backward make the same bits.
struct AttentionScores {
  template <typename Op>
  AttentionScores(Loops &b, Op op, Value factor)
      : b(b), q(op.getQ()), bias(op.getPositionBias()), factor(factor), heads(op.getNumHeads()),
        kvHeads(op.getNumKvHeads()), headDim(rowWidth(q) / heads),
        scaleAttribute(op.getScale().convertToDouble()), options(op.getOptions()) {
    if constexpr (requires { op.getColumns(); }) {
      columns = op.getColumns();
      queryScores = op.getQueryScores();
      keyScores = op.getKeyScores();
    }
  }

  /// What products are multiplied by.
  Value scale() const {
    Value scale = b.scalar(scaleAttribute);
    return factor ? b.mulf(scale, factor) : scale;
  }
  int64_t group() const { return heads / kvHeads; }
  Value kvHeadOf(Value head) const { return b.div(head, group()); }
  Value column(Value head) const { return b.mul(head, headDim); }

  /// The keys `[first, second)` of `count` that a query at `place` among them sees.
  std::pair<Value, Value> keysOf(Value place, Value count) const;
  /// The places `[first, second)` of queries that see a key, of those from `from` up to `end`.
  std::pair<Value, Value> queriesOf(Value key, Value from, Value end) const;

  /// Of a query's row and a key at `distance` from it.
  Value of(Value query, Value head, const Place &key, Value distance) const;
  /// Likewise, of their product, with what the key's `row` of `key_scores` has.
  Value ofProduct(Value product, Value query, Value head, Value row, Value distance) const;
  /// Where a bias has what it adds at `distance`, and what a slope is multiplied by there, else
  /// null.
  std::pair<Value, Value> biasPlace(Value distance) const;
  /// The column of query_scores and key_scores.
  Value relativeColumn(Value distance) const;

  Loops &b;
  Value q, bias, factor;                 // the last two may be null
  Value columns, queryScores, keyScores; // likewise
  int64_t heads, kvHeads, headDim;
  double scaleAttribute;
  AttentionOptionsAttr options;
};

/// Zeros for `count` columns of a row, from `first` on.
inline void clearColumns(Loops &b, Value buffer, Value row, Value first, int64_t count) {
  b.forEach(b.index(0), b.index(count),
            [&](Value i) { b.store(b.scalar(0), buffer, {row, b.add(first, i)}); });
}
inline void addTo(Loops &b, Value buffer, Value row, Value column, Value term) {
  Values at = {row, column};
  b.store(b.addf(b.load(buffer, at), term), buffer, at);
}
/// The first column of a head's numbers in rows of `heads` heads.
inline Value firstColumn(Loops &b, Value buffer, Value head, int64_t heads) {
  return b.mul(head, rowWidth(buffer) / heads);
}

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ATTENTIONSCORES_H
