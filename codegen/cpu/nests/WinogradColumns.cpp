//===- WinogradColumns.cpp - what a product over tokens multiplies --------===//
//
// First each token gets its scale. Then a task copies some parts and sums squares on the way,
// several parts at once so that rows are read in long pieces; it scales each part where it stands,
// in the cache. Squares and corrections are summed in double precision.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/cpu/nests/WeightGradientPack.h"
#include "codegen/cpu/nests/WinogradNest.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class Columns {
public:
  Columns(Emit &b, Value x, Value scales, bool inverse, Value parts)
      : b(b), x(x), scales(scales), parts(parts), inverse(inverse), width(rowWidth(x)),
        partWidth(rowWidth(parts)),
        type(VectorType::get({std::min(partWidth, b.lanes())}, b.getF32Type())),
        wide(type.clone(b.getF64Type())), tokens(b.dim(x, 0)), blocks(winogradBlocks(b, tokens)) {}

  void emit(const Work &work) {
    int64_t count = llvm::divideCeil(width, partWidth), whole = width / (partWidth * kTogether);
    b.parallel(work, tokens, b.index(llvm::divideCeil(count, kTogether)), [&](Value task) {
      Value first = b.mul(task, kTogether);
      if (whole)
        b.ifThen(b.lt(task, b.index(whole)),
                 [&] { emitParts(first, kTogether, kTogether * partWidth); });
      if (int64_t rest = count - whole * kTogether)
        b.ifThen(b.eq(task, b.index(whole)),
                 [&] { emitParts(first, rest, width - whole * kTogether * partWidth); });
    });
  }

private:
  static constexpr int64_t kTogether = 4;

  int64_t lanes() const { return type.getNumElements(); }

  /// `count` parts from `first` on, of whose columns `there` are.
  void emitParts(Value first, int64_t count, int64_t there) {
    Value column = b.mul(first, partWidth), zero = zeros(wide);
    int64_t vectors = count * partWidth / lanes();
    auto part = [&](int64_t i) { return b.add(first, i * lanes() / partWidth); };
    auto place = [&](int64_t i) { return b.index(i * lanes() % partWidth); };
    auto copy = [&](Value token, Value row, ValueRange sums) {
      Values next(sums);
      b.prefetchRow(x, b.add(token, kTokensAhead), column, there);
      Value ofToken = b.load(scales, token);
      if (inverse)
        ofToken = inverseOf(b, ofToken);
      ofToken = vector::BroadcastOp::create(b, type, ofToken);
      for (int64_t i = 0; i < vectors; ++i) {
        Value v = loadColumns(b, type, x, token, b.add(column, i * lanes()), there - i * lanes());
        v = b.mulf(v, ofToken);
        vector::StoreOp::create(b, v, parts, ValueRange{part(i), row, place(i)});
        v = extend(v);
        next[i] = b.addf(next[i], b.mulf(v, v));
      }
      return next;
    };
    Values squares =
        b.loop(b.index(0), blocks, 1, Values(vectors, zero), [&](Value block, ValueRange sums) {
          Value begin = b.mul(block, winograd::kBlock);
          Value end = b.min(b.add(begin, winograd::kBlock), tokens);
          return b.loop(begin, end, 1, sums, [&](Value token, ValueRange args) {
            return copy(token, b.add(b.add(token, block), winograd::kFirstBlock + 1), args);
          });
        });
    // To the end of a step.
    Value lastBlock = b.sub(blocks, b.index(1));
    b.forEach(
        tokens, b.mul(b.ceilDiv(tokens, winograd::kStep), winograd::kStep), 1, [&](Value token) {
          Value row = b.add(b.add(token, lastBlock), winograd::kFirstBlock + 1);
          for (int64_t i = 0; i < vectors; ++i)
            vector::StoreOp::create(b, zeros(type), parts, ValueRange{part(i), row, place(i)});
        });
    for (int64_t i = 0; i < vectors; ++i)
      scale(part(i), place(i), squares[i]);
  }

  void scale(Value part, Value place, Value squares) {
    Value count = arith::UIToFPOp::create(
        b, b.getF64Type(),
        arith::IndexCastOp::create(b, b.getI64Type(), b.max(tokens, b.index(1))));
    Value mean = b.divf(squares, vector::BroadcastOp::create(b, wide, count));
    Scale scale = scaleOf(b, narrow(math::SqrtOp::create(b, mean)));
    Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, squares, zeros(wide));
    store(b.select(isZero, zeros(type), scale.inverse), part, b.index(0), place);
    b.forEach(b.index(0), blocks, 1, [&](Value block) {
      Value corrections = b.add(b.mul(block, winograd::kRowsOfBlock), winograd::kFirstBlock);
      Value left = b.sub(tokens, b.mul(block, winograd::kBlock));
      Value steps = b.ceilDiv(b.min(left, b.index(winograd::kBlock)), winograd::kStep);
      Values sums =
          b.loop(b.index(0), steps, 1, Values(2, zeros(wide)), [&](Value step, ValueRange args) {
            Value row = b.add(corrections, b.add(b.mul(step, winograd::kStep), 1));
            return scaleStep(part, row, place, scale.factor, args);
          });
      store(narrow(b.subf(sums[1], sums[0])), part, corrections, place);
    });
  }

  /// The sums of what is added and of what is subtracted too much.
  Values scaleStep(Value part, Value first, Value place, Value factor, ValueRange sums) {
    Values v;
    for (int64_t i = 0; i < winograd::kStep; ++i) {
      Value row = b.add(first, i);
      Value loaded = vector::LoadOp::create(b, type, parts, ValueRange{part, row, place});
      v.push_back(b.mulf(loaded, factor));
      store(v.back(), part, row, place);
    }
    auto pair = [&](int64_t i, Value sum) -> Value { // exact products
      return b.addf(sum, b.mulf(extend(v[i]), extend(v[i + 1])));
    };
    return {pair(0, sums[0]), pair(3, sums[1])};
  }

  void store(Value v, Value part, Value row, Value place) {
    vector::StoreOp::create(b, v, parts, ValueRange{part, row, place});
  }
  Value zeros(VectorType of) { return arith::ConstantOp::create(b, b.getZeroAttr(of)); }
  Value extend(Value v) { return arith::ExtFOp::create(b, wide, v); }
  Value narrow(Value v) { return arith::TruncFOp::create(b, type, v); }

  Emit &b;
  Value x, scales, parts;
  bool inverse;
  int64_t width, partWidth;
  VectorType type, wide;
  Value tokens, blocks;
};

} // namespace

Value transformer::winogradBlocks(Emit &b, Value tokens) {
  return b.max(b.ceilDiv(tokens, winograd::kBlock), b.index(1));
}

void transformer::emitTokenScales(Emit &b, const Work &work, Value x, Value y, Value scales) {
  auto largest = [&](Value rows, Value token) {
    Values zeros(sweepUnroll, b.splat(0));
    Values most = sweepRow(b, rowWidth(rows), zeros, [&](Value column, int64_t lanes, Value so) {
      Value v = b.loadVector(rows, {token, column}, lanes);
      return emitMax(b, so, math::AbsFOp::create(b, v));
    });
    while (most.size() > 1)
      most.push_back(emitMax(b, most.pop_back_val(), most.pop_back_val()));
    return b.maxLane(most.front());
  };
  Value tokens = b.dim(x, 0);
  int64_t size = Emit::itemsPerTask(rowWidth(x) + rowWidth(y));
  b.parallel(work, tokens, b.ceilDiv(tokens, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, tokens);
    b.forEach(lower, upper, 1, [&](Value token) {
      Value ratio = b.divf(largest(y, token), largest(x, token));
      b.store(scaleOf(b, math::SqrtOp::create(b, ratio)).inverse, scales, token);
    });
  });
}

void transformer::emitWinogradColumns(Emit &b, const Work &work, Value x, Value scales,
                                      bool inverse, Value parts) {
  Columns(b, x, scales, inverse, parts).emit(work);
}
