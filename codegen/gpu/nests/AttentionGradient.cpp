//===- AttentionGradient.cpp - backward of attention ----------------------===//
//
// A thread a query and head for dq, one a key and head for dk and dv: both compute probabilities
// anew. What a query adds to the gradient of a bias is a row of its own, summed over all queries.
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/nests/AttentionBlocks.h"
#include "codegen/gpu/nests/Dropout.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/Sums.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

class AttentionGradient {
public:
  AttentionGradient(Loops &b, kernel::AttentionGradientOp op)
      : b(b), op(op), scores(b, op, op.getScaleFactor()), k(op.getK()), v(op.getV()),
        dresult(op.getDresult()), dq(op.getOuts()[0]), dk(op.getOuts()[1]), dv(op.getOuts()[2]) {
    size_t next = scores.bias ? 4 : 3;
    if (scores.queryScores)
      dqueryScores = op.getOuts()[next++];
    if (scores.keyScores)
      dkeyScores = op.getOuts()[next];
    if (scores.bias) {
      auto type = cast<MemRefType>(scores.bias.getType());
      biasColumns = type.getRank() > 1 ? type.getDimSize(1) : 1;
    }
  }

  void emit() {
    Value queries = b.dim(op.getQ(), 0), heads = b.index(scores.heads);
    deltas = b.buffer({ShapedType::kDynamic, scores.heads}, b.getF32Type(), queries);
    if (scores.bias)
      dbias = b.buffer({ShapedType::kDynamic, scores.heads * biasColumns}, b.getF32Type(), queries);
    GradientBuffers buffers{deltas, dbias, biasColumns};
    if (!emitAttentionGradientTensorCores(b, op, buffers) &&
        !emitAttentionGradientBlocks(b, op, buffers)) {
      b.threads({queries, heads}, [&](ValueRange at) { emitQuery(at[0], at[1]); });
      b.threads({b.dim(k, 0), b.index(scores.kvHeads)},
                [&](ValueRange at) { emitKey(at[0], at[1]); });
    }
    if (scores.bias)
      sumBias(queries);
  }

private:
  /// A sequence's rows of queries and of keys.
  struct Sequence {
    Value firstQuery, queries, firstKey, keys;
    Value shift; // from a query's number to its place among the keys
  };

  Sequence sequence(Value cu, Value row) {
    Value which = sequenceOf(b, cu, row), next = b.add(which, 1);
    Sequence of;
    of.firstQuery = b.load(op.getCuQueries(), which);
    of.queries = b.sub(b.load(op.getCuQueries(), next), of.firstQuery);
    of.firstKey = b.load(op.getCuKeys(), which);
    of.keys = b.sub(b.load(op.getCuKeys(), next), of.firstKey);
    of.shift = b.sub(of.keys, of.queries);
    return of;
  }

  Value dot(Value x, Value row, Value head, Value y, Value other, Value otherHead) {
    return b.sum(scores.headDim, [&](Value d) {
      return b.mulf(loadFloat(b, x, {row, b.add(scores.column(head), d)}),
                    loadFloat(b, y, {other, b.add(scores.column(otherHead), d)}));
    });
  }

  /// Of a query and a key, the `number`-th of its sequence: what its value is weighted by, and dS.
  std::pair<Value, Value> weightAndGradient(Value query, Value head, Value key, Value number,
                                            Value distance) {
    Value score = scores.of(query, head, Place{k, {key}}, distance);
    Value sum = b.load(op.getLogSumExp(), {query, head});
    Value p = math::ExpOp::create(b, b.subf(score, sum)), kept = p;
    Value dp = dot(dresult, query, head, v, key, scores.kvHeadOf(head));
    if (Value seed = op.getDropoutKey()) {
      double rate = scores.options.getDropout().convertToDouble();
      Value factor = DropoutFactors{b, seed, rate, b.add(head, 1)}.of(query, number);
      dp = b.mulf(dp, factor);
      kept = b.mulf(p, factor);
    }
    return {rounded(kept), b.mulf(p, b.subf(dp, b.load(deltas, {query, head})))};
  }

  /// What a product multiplies by.
  Value rounded(Value x) { return roundTo(b, scores.options.getRounding(), x); }

  /// Adds `factor` times a row of a head's numbers.
  void addRow(Value to, Value row, Value head, Value factor, Value from, Value other,
              Value otherHead) {
    b.forEach(b.index(0), b.index(scores.headDim), [&](Value d) {
      Value x = loadFloat(b, from, {other, b.add(scores.column(otherHead), d)});
      addTo(b, to, row, b.add(scores.column(head), d), b.mulf(factor, x));
    });
  }
  void emitQuery(Value query, Value head) {
    Sequence of = sequence(op.getCuQueries(), query);
    Value place = b.add(b.sub(query, of.firstQuery), of.shift), kvHead = scores.kvHeadOf(head);
    b.store(dot(dresult, query, head, op.getResult(), query, head), deltas, {query, head});
    clearColumns(b, dq, query, scores.column(head), scores.headDim);
    if (dqueryScores)
      clearColumns(b, dqueryScores, query, firstColumn(b, dqueryScores, head, scores.heads),
                   rowWidth(dqueryScores) / scores.heads);
    Value biasColumn = b.mul(head, biasColumns);
    if (dbias)
      clearColumns(b, dbias, query, biasColumn, biasColumns);
    auto [from, end] = scores.keysOf(place, of.keys);
    b.forEach(from, end, [&](Value j) {
      Value key = b.add(of.firstKey, j), distance = b.sub(j, place);
      Value ds = weightAndGradient(query, head, key, j, distance).second;
      addRow(dq, query, head, b.mulf(rounded(ds), scores.scale()), k, key, kvHead);
      if (dqueryScores) {
        Value first = firstColumn(b, dqueryScores, head, scores.heads);
        addTo(b, dqueryScores, query, b.add(first, scores.relativeColumn(distance)),
              b.mulf(ds, scores.scale()));
      }
      if (dbias) {
        auto [column, length] = scores.biasPlace(distance);
        addTo(b, dbias, query, b.add(biasColumn, column), length ? b.mulf(ds, length) : ds);
      }
    });
  }

  void emitKey(Value key, Value kvHead) {
    Sequence of = sequence(op.getCuKeys(), key);
    Value number = b.sub(key, of.firstKey), group = b.index(scores.group());
    for (Value buffer : {dk, dv})
      clearColumns(b, buffer, key, scores.column(kvHead), scores.headDim);
    if (dkeyScores)
      clearColumns(b, dkeyScores, key, firstColumn(b, dkeyScores, kvHead, scores.kvHeads),
                   rowWidth(dkeyScores) / scores.kvHeads);
    // Places of queries among the keys, of which those may be negative that see none.
    auto [from, end] = scores.queriesOf(number, of.shift, b.add(of.shift, of.queries));
    b.forEach(b.index(0), group, [&, from = from, end = end](Value member) {
      Value head = b.add(b.mul(kvHead, group), member);
      b.forEach(b.index(0), b.max(b.index(0), b.sub(end, from)), [&](Value i) {
        Value place = b.add(from, i), distance = b.sub(number, place);
        Value query = b.add(of.firstQuery, b.sub(place, of.shift));
        auto [weight, ds] = weightAndGradient(query, head, key, number, distance);
        addRow(dv, key, kvHead, weight, dresult, query, head);
        addRow(dk, key, kvHead, b.mulf(rounded(ds), scores.scale()), op.getQ(), query, head);
        if (dkeyScores) {
          Value first = firstColumn(b, dkeyScores, kvHead, scores.kvHeads);
          addTo(b, dkeyScores, key, b.add(first, scores.relativeColumn(distance)),
                b.mulf(ds, scores.scale()));
        }
      });
    });
  }

  void sumBias(Value queries) {
    Value result = op.getOuts()[3];
    bool isSlope = cast<MemRefType>(result.getType()).getRank() == 1;
    sumOverRows(
        b, queries, scores.heads * biasColumns, 1,
        [&](Value query, Value column) { return Values{b.widen(b.load(dbias, {query, column}))}; },
        [&](ValueRange sums, Value column) {
          Values at = {b.div(column, biasColumns)};
          if (!isSlope)
            at.push_back(b.rem(column, biasColumns));
          b.store(b.narrow(sums[0]), result, at);
        });
  }

  Loops &b;
  kernel::AttentionGradientOp op;
  AttentionScores scores;
  Value k, v, dresult, dq, dk, dv;
  Value dqueryScores, dkeyScores; // null: none
  int64_t biasColumns = 0;
  Value deltas; // [Tq, heads]: products of dresult and result
  Value dbias;  // [Tq, heads * biasColumns]; null: none
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::AttentionGradientOp op) {
  AttentionGradient(b, op).emit();
}

/// A thread a number of either gradient.
void transformer::simt::emitKernel(Loops &b, kernel::RelativeScoresGradientOp op) {
  Value x = op.getX(), table = op.getTable(), dy = op.getDy();
  int64_t heads = op.getNumHeads(), width = rowWidth(x), headDim = width / heads;
  int64_t positions = cast<MemRefType>(table.getType()).getDimSize(0);
  auto scoreColumn = [&](Value column, Value position) {
    return b.add(b.mul(b.div(column, headDim), positions), position);
  };
  b.threads({b.dim(x, 0), b.index(width)}, [&](ValueRange at) {
    Value sum = b.sum(positions, [&](Value position) {
      Value d = b.load(dy, {at[0], scoreColumn(at[1], position)});
      return b.mulf(d, b.load(table, {position, at[1]}));
    });
    b.store(sum, op.getOuts()[0], at);
  });
  b.threads({b.index(positions), b.index(width)}, [&](ValueRange at) {
    Value sum = b.sum(b.dim(x, 0), [&](Value token) {
      Value d = b.load(dy, {token, scoreColumn(at[1], at[0])});
      return b.mulf(d, b.load(x, {token, at[1]}));
    });
    b.store(sum, op.getOuts()[1], at);
  });
}
