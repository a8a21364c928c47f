//===- Rows.cpp - embeddings and norms ------------------------------------===//
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/RowThreads.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// One row: what is read of it, and where its norm goes.
struct RowNorm {
  Loops &b;
  RowThreads &row;
  NormAttr norm;
  bool rms;
  Value gamma, beta; // beta may be null
  int64_t width;

  void emit(const RowNumbers &x, function_ref<void(Value y, Value i)> put) {
    // Asked for before anybody waits for the row's sums.
    SmallVector<RowNumbers> factors;
    for (Value each : {gamma, beta})
      if (each)
        factors.push_back(row.hold(width, [&, each](Value i) { return b.load(each, i); }));
    Value count = b.scalar(double(width));
    auto itself = [](Value v, Value) { return v; };
    Value mean = rms ? b.scalar(0) : b.divf(row.sum(x, itself), count);
    Value squares = row.sum(x, [&](Value v, Value) {
      Value difference = b.subf(v, mean);
      return b.mulf(difference, difference);
    });
    double divisor = norm.getUnbiased() && !rms ? double(width - 1) : double(width);
    Value variance = b.divf(squares, b.scalar(divisor)),
          eps = b.scalar(norm.getEps().convertToDouble());
    auto root = [&](Value v) -> Value { return math::SqrtOp::create(b, v); };
    Value deviation =
        norm.getEpsOutside() ? b.addf(root(variance), eps) : root(b.addf(variance, eps));
    row.forEach(x, factors, [&](Value v, ValueRange at, Value i) {
      Value y = b.mulf(b.divf(b.subf(v, mean), deviation), at.front());
      put(beta ? b.addf(y, at.back()) : y, i);
    });
  }
};

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::LayerNormOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  Value sums = op.getSum(), rounded = op.getRounded();
  int64_t width = rowWidth(op.getGamma());
  rows(b, {b.dim(x, 0), b.index(rowWidth(x) / width)}, width,
       [&](ValueRange part, RowThreads &row) {
         Value first = b.mul(part[1], width);
         auto at = [&](Value i) { return Values{part[0], b.add(first, i)}; };
         auto input = [&](Value i) {
           Value v = b.load(x, at(i));
           for (Value residual : op.getResidual())
             v = b.addf(v, b.load(residual, at(i)));
           return v;
         };
         RowNumbers numbers = row.hold(width, input);
         if (sums) { // may be x's own memory
           row.forEach(numbers, [&](Value v, Value i) { b.store(v, sums, at(i)); });
           numbers.read = [&](Value i) { return b.load(sums, at(i)); };
         }
         RowNorm{b, row, op.getNorm(), op.getRms(), op.getGamma(), op.getBeta(), width}.emit(
             numbers, [&](Value y, Value i) {
               b.store(y, result, at(i));
               if (rounded)
                 b.store(y, rounded, at(i));
             });
       });
}

void transformer::simt::emitKernel(Loops &b, kernel::EmbeddingOp op) {
  Value result = op.getOuts()[0];
  int64_t width = rowWidth(result);
  rows(b, b.dim(op.getIds()[0], 0), width, [&](ValueRange token, RowThreads &row) {
    Values ids;
    for (Value of : op.getIds())
      ids.push_back(b.loadIndex(of, token[0]));
    auto at = [&](Value i) { return Values{token[0], i}; };
    auto put = [&](Value y, Value i) { b.store(y, result, at(i)); };
    RowNumbers numbers = row.hold(width, [&](Value i) {
      Value sum;
      for (auto [id, table, scale] : llvm::zip_equal(ids, op.getTables(), op.getScales())) {
        Value v = b.load(table, {id, i});
        if (scale != 1)
          v = b.mulf(v, b.scalar(scale));
        sum = sum ? b.addf(sum, v) : v;
      }
      return sum;
    });
    if (op.getNorm().empty())
      row.forEach(numbers, put);
    else
      RowNorm{b, row, *op.getFormula(), false, op.getNorm()[0], op.getNorm()[1], width}.emit(
          numbers, put);
  });
}
