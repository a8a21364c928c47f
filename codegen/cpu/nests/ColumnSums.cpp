//===- ColumnSums.cpp - sums over the tokens, and over elements -----------===//
//
// A task owns columns and takes all tokens in their order: no sum depends on the threads.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/ColumnSums.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::forEachColumns(Emit &b, const Work &work, Value amount, int64_t width,
                                 function_ref<void(const ColumnBlock &block)> emit) {
  int64_t lanes = b.lanes(), block = columnVectors * lanes, whole = width / block;
  auto rest = width % block;
  b.parallel(work, amount, b.index(whole + (rest ? 1 : 0)), [&](Value task) {
    Value first = b.mul(task, block);
    auto part = [&](int64_t columns) {
      int64_t vectors = llvm::divideCeil(columns, lanes);
      emit({b, first, vectors, columns - (vectors - 1) * lanes});
      return Values();
    };
    if (!rest)
      part(block);
    else if (!whole)
      part(rest);
    else
      b.ifElse(
          b.lt(task, b.index(whole)), {}, [&] { return part(block); }, [&] { return part(rest); });
  });
}

Value transformer::sumElements(Emit &b, Value buffer) {
  return sumElements(b, buffer, b.index(0), b.dim(buffer, 0));
}

Value transformer::sumElements(Emit &b, Value buffer, Value from, Value to) {
  Value none = arith::ConstantOp::create(b, b.getF64FloatAttr(0)), zero = b.index(0);
  return b.loop(from, to, 1, none, [&](Value i, ValueRange before) {
    Values at = {i};
    at.resize(cast<MemRefType>(buffer.getType()).getRank(), zero);
    Value element = arith::ExtFOp::create(b, b.getF64Type(), b.load(buffer, at));
    return Values{b.addf(before[0], element)};
  })[0];
}

void transformer::emitNest(Emit &b, kernel::SumRowsOp op) {
  Value x = op.getX(), result = op.getOuts()[0], rows = b.dim(x, 0);
  int64_t width = rowWidth(result);
  auto load = [&](Value row, Value column, int64_t lanes) {
    return areWords(x) ? emitNumbers(b, loadWords(b, x, row, column, b.lanes(), lanes))
                       : b.loadVector(x, {row, column}, lanes);
  };
  forEachColumns(
      b, rowWork("sum_rows", "tokens", width, 1), rows, width, [&](const ColumnBlock &block) {
        // In f64: the gradient of a key's bias is 0 but for rounding, which AdamW makes steps of.
        auto wide = VectorType::get({b.lanes()}, b.getF64Type());
        Values zeros(block.vectors, arith::ConstantOp::create(b, b.getZeroAttr(wide)));
        Values sums = b.loop(b.index(0), rows, 1, zeros, [&](Value row, ValueRange before) {
          Values next;
          for (auto [i, sum] : llvm::enumerate(before)) {
            Value v = load(row, block.column(i), block.lanes(i));
            next.push_back(b.addf(sum, arith::ExtFOp::create(b, wide, v)));
          }
          return next;
        });
        for (auto [i, sum] : llvm::enumerate(sums)) {
          Value rounded = arith::TruncFOp::create(b, b.vectorType(), sum);
          b.storeVector(rounded, result, block.column(i), block.lanes(i));
        }
      });
}

void transformer::emitNest(Emit &b, kernel::EmbeddingGradientOp op) {
  Value ids = op.getIds(), dy = op.getDy(), table = op.getOuts()[0];
  int64_t width = rowWidth(table), size = Emit::itemsPerTask(width);
  Value rows = b.dim(table, 0), tokens = b.dim(dy, 0);
  double scale = op.getScale().convertToDouble();
  if (!op.getOnto())
    b.parallel(rowWork("embedding_gradient zeros", "rows", width, 1), rows, b.ceilDiv(rows, size),
               [&](Value task) {
                 auto [lower, upper] = taskRange(b, task, size, rows);
                 b.forEach(lower, upper, 1, [&](Value row) { zeroRow(b, width, table, row); });
               });
  // In f64, as those of sum_rows.
  auto wide = VectorType::get({b.lanes()}, b.getF64Type());
  auto squareOf = [&](Value x) {
    x = arith::ExtFOp::create(b, wide, x);
    return b.mulf(x, x);
  };
  bool sums = op.getOuts().size() > 1;
  Value padding = op.getPaddingIndex()
                      ? arith::ConstantIntOp::create(b, *op.getPaddingIndex(), 64).getResult()
                      : Value();
  auto emitBlock = [&](const ColumnBlock &block) {
    auto addRow = [&](Value token, Value id, ValueRange raised) {
      Value row = arith::IndexCastOp::create(b, b.getIndexType(), id);
      Values next;
      for (int64_t i = 0; i < block.vectors; ++i) {
        int64_t lanes = block.lanes(i);
        Value column = block.column(i);
        Value x = b.loadVector(dy, {token, column}, lanes);
        if (scale != 1)
          x = b.mulf(x, b.splat(scale));
        Value before = b.loadVector(table, {row, column}, lanes), after = b.addf(before, x);
        b.storeVector(after, table, {row, column}, lanes);
        if (sums)
          next.push_back(b.addf(raised[i], b.subf(squareOf(after), squareOf(before))));
      }
      return next;
    };
    Values zeros(sums ? block.vectors : 0,
                 arith::ConstantOp::create(b, b.getZeroAttr(wide)).getResult());
    Values raised =
        b.loop(b.index(0), tokens, 1, zeros, [&](Value token, ValueRange before) -> Values {
          Value id = b.load(ids, token);
          if (!padding)
            return addRow(token, id, before);
          return b.ifElse(
              b.compare(arith::CmpIPredicate::ne, id, padding), before.getTypes(),
              [&] { return addRow(token, id, before); }, [&] { return Values(before); });
        });
    for (auto [i, sum] : llvm::enumerate(raised))
      b.storeVector(arith::TruncFOp::create(b, b.vectorType(), sum), op.getOuts()[2],
                    block.column(i), block.lanes(i));
  };
  forEachColumns(b, rowWork("embedding_gradient", "tokens", width, 3), tokens, width, emitBlock);
  if (sums) {
    Value sum = arith::TruncFOp::create(b, b.getF32Type(), sumElements(b, op.getOuts()[2]));
    b.store(sum, op.getOuts()[1], {});
  }
}

void transformer::emitNest(Emit &b, kernel::SumSquaresOp op) {
  Value x = op.getX(), sums = op.getOuts()[1];
  auto type = cast<MemRefType>(x.getType());
  int64_t width = rowWidth(x), size = Emit::itemsPerTask(width);
  Value rows = b.dim(sums, 0);
  b.parallel(rowWork("sum_squares", "rows", width, 1), rows, b.ceilDiv(rows, size),
             [&](Value task) {
               auto [lower, upper] = taskRange(b, task, size, rows);
               b.forEach(lower, upper, 1, [&](Value row) {
                 Value sum = sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
                   SmallVector<Value> at = {row, column};
                   Value v = b.loadVector(x, ArrayRef(at).take_back(type.getRank()), lanes);
                   return emitFma(b, v, v, accumulator);
                 });
                 b.store(sum, sums, row);
               });
             });
  Value sum = arith::TruncFOp::create(b, b.getF32Type(), sumElements(b, sums));
  b.store(sum, op.getOuts()[0], {});
}
