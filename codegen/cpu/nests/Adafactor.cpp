//===- Adafactor.cpp - one step of Adafactor ------------------------------===//
//
// The update needs its own root mean square, so it is computed twice instead of stored: memory
// holds nothing of the weight's size but weight and gradient. Rows are summed one by one, then
// their sums in order; columns take all rows in order. No sum depends on the threads.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/ColumnSums.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

class AdafactorUpdate {
public:
  AdafactorUpdate(Emit &b, kernel::AdafactorUpdateOp op)
      : b(b), op(op), gradient(op.getGradient()), parameter(op.getOuts()[0]),
        isFactored(cast<MemRefType>(gradient.getType()).getRank() == 2),
        moments(op.getOuts().slice(1, isFactored ? 2 : 1)), sums(op.getOuts().back()),
        width(rowWidth(parameter)), rows(b.dim(sums, 0)),
        matrices(isFactored ? cast<MemRefType>(moments[1].getType()).getDimSize(0) : 1),
        rowsOfMatrix(cast<MemRefType>(sums.getType()).getDimSize(0) / matrices) {}

  void emit() {
    forEachRow("moments", 2, [&](Value row) {
      isFactored ? updateRowVariance(row) : updateVariance();
      b.store(squaresOfParameter(row), sums, row);
    });
    Value rootMeanSquare = math::SqrtOp::create(b, mean(sums, width));
    Value size = b.mulf(op.getRate(), max(op.getEps2(), rootMeanSquare));
    if (isFactored)
      matrices == 1 ? updateColumnVariances() : updateColumnVariancesOfEach();
    Value eps = op.getEps1();
    least = narrow(b.mulf(eps, eps));
    forEachRow("squares", 1, [&](Value row) {
      Row of = rowOf(row);
      Value sum = sumOf([&](Value column, int64_t lanes) {
        Value g = scaledGradient(row, column, lanes);
        return b.divf(b.mulf(g, g), variance(of, column, lanes));
      });
      b.store(sum, sums, row);
    });
    Value excess = b.divf(math::SqrtOp::create(b, mean(sums, width)), op.getClipThreshold());
    Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
    size = narrow(b.divf(size, max(one, excess)));
    forEachRow("weights", 3, [&](Value row) {
      Row of = rowOf(row);
      Value each = b.broadcast(size), shrink = b.broadcast(op.getShrink());
      sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
        Value root = math::SqrtOp::create(b, variance(of, column, lanes));
        Value update = b.divf(scaledGradient(row, column, lanes), root);
        Value p = b.mulf(shrink, b.loadVector(parameter, at(row, column), lanes));
        b.storeVector(b.subf(p, b.mulf(each, update)), parameter, at(row, column), lanes);
        return Value();
      });
    });
  }

private:
  Values at(Value row, Value column) const {
    return isFactored ? Values{row, column} : Values{column};
  }

  Value narrow(Value x) { return arith::TruncFOp::create(b, b.getF32Type(), x); }
  Value max(Value x, Value y) { return arith::MaximumFOp::create(b, x, y); }

  void forEachRow(StringRef label, int64_t accesses, function_ref<void(Value row)> emit) {
    int64_t size = Emit::itemsPerTask(width);
    b.parallel(rowWork(("adafactor_update " + label).str(), "rows", width, accesses), rows,
               b.ceilDiv(rows, size), [&](Value task) {
                 auto [lower, upper] = taskRange(b, task, size, rows);
                 b.forEach(lower, upper, 1, emit);
               });
  }

  /// The mean of what rows of `columns` numbers each sum up to, in f64.
  Value mean(Value sumsOfRows, int64_t columns) {
    Value sum = sumElements(b, sumsOfRows);
    auto count = cast<MemRefType>(sumsOfRows.getType()).getDimSize(0) * columns;
    return b.divf(sum, arith::ConstantOp::create(b, b.getF64FloatAttr(count)));
  }

  Value sumOf(function_ref<Value(Value column, int64_t lanes)> term) {
    return sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
      Value v = term(column, lanes);
      if (lanes < b.lanes()) // where eps1 is 0, nothing is divided by nothing
        v = b.select(b.lanesBelow(lanes), v, b.splat(0));
      return b.addf(accumulator, v);
    });
  }

  Value scaledGradient(Value row, Value column, int64_t lanes) {
    return b.mulf(b.loadVector(gradient, at(row, column), lanes), b.broadcast(op.getScale()));
  }

  /// A moment that takes in new squares; both scalars or both vectors.
  Value blend(Value before, Value squares) {
    Value keep = op.getKeep(), share = op.getShare();
    if (isa<VectorType>(before.getType())) {
      keep = b.broadcast(keep);
      share = b.broadcast(share);
    }
    return b.addf(b.mulf(keep, before), b.mulf(share, squares));
  }

  Value squaresOfParameter(Value row) {
    return sumOf([&](Value column, int64_t lanes) {
      Value p = b.loadVector(parameter, at(row, column), lanes);
      return b.mulf(p, p);
    });
  }

  void updateRowVariance(Value row) {
    Value sum = sumOf([&](Value column, int64_t lanes) {
      Value g = scaledGradient(row, column, lanes);
      return b.mulf(g, g);
    });
    Values place = {row, b.index(0)};
    Value squares = b.divf(sum, b.scalar(width));
    b.store(blend(b.load(moments[0], place), squares), moments[0], place);
  }

  void updateVariance() {
    sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
      Value g = scaledGradient(Value(), column, lanes);
      Value before = b.loadVector(moments[0], column, lanes);
      b.storeVector(blend(before, b.mulf(g, g)), moments[0], column, lanes);
      return Value();
    });
  }

  /// A vector of columns, and how many of its lanes are inside the row.
  using Columns = std::pair<Value, int64_t>;

  Work columnWork() const { return rowWork("adafactor_update columns", "rows", width, 1); }

  void updateColumnVariances() {
    forEachColumns(b, columnWork(), rows, width, [&](const ColumnBlock &block) {
      SmallVector<Columns> columns;
      for (int64_t i = 0; i < block.vectors; ++i)
        columns.push_back({block.column(i), block.lanes(i)});
      updateColumns(b.index(0), columns);
    });
    storeMean(b.index(0));
  }
  void updateColumnVariancesOfEach() {
    b.parallel(columnWork(), rows, b.index(matrices), [&](Value matrix) {
      sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
        updateColumns(matrix, Columns{column, lanes});
        return Value();
      });
      storeMean(matrix);
    });
  }

  Value firstRow(Value matrix) { return b.mul(matrix, rowsOfMatrix); }
  Value endOfRows(Value matrix) { return b.add(firstRow(matrix), rowsOfMatrix); }
  Value matrixOf(Value row) {
    return matrices == 1 ? b.index(0) : b.div(row, b.index(rowsOfMatrix));
  }

  void updateColumns(Value matrix, ArrayRef<Columns> columns) {
    auto wide = VectorType::get({b.lanes()}, b.getF64Type());
    Values zeros(columns.size(), arith::ConstantOp::create(b, b.getZeroAttr(wide)));
    Values sums =
        b.loop(firstRow(matrix), endOfRows(matrix), 1, zeros, [&](Value row, ValueRange before) {
          Values next;
          for (auto [of, sum] : llvm::zip_equal(columns, before)) {
            Value g = scaledGradient(row, of.first, of.second);
            Value square = arith::ExtFOp::create(b, wide, b.mulf(g, g));
            next.push_back(b.addf(sum, square));
          }
          return next;
        });
    Value count = arith::ConstantOp::create(
        b, DenseElementsAttr::get(wide, static_cast<double>(rowsOfMatrix)));
    for (auto [of, sum] : llvm::zip_equal(columns, sums)) {
      Values place = {matrix, of.first};
      Value squares = arith::TruncFOp::create(b, b.vectorType(), b.divf(sum, count));
      Value before = b.loadVector(moments[1], place, of.second);
      b.storeVector(blend(before, squares), moments[1], place, of.second);
    }
  }

  /// Of the variances of a matrix' rows, at least eps1.
  Value means() { return op.getOuts()[3]; }
  void storeMean(Value matrix) {
    Value sum = sumElements(b, moments[0], firstRow(matrix), endOfRows(matrix));
    Value count = arith::ConstantOp::create(b, b.getF64FloatAttr(rowsOfMatrix));
    b.store(emitMax(b, narrow(op.getEps1()), narrow(b.divf(sum, count))), means(), matrix);
  }

  /// What the moments of the columns of a row's matrix are multiplied by; nothing of a vector.
  struct Row {
    Value matrix, factor;
  };
  Row rowOf(Value row) {
    if (!isFactored)
      return {};
    Value matrix = matrixOf(row);
    Value factor = b.divf(b.load(moments[0], {row, b.index(0)}), b.load(means(), matrix));
    return {matrix, b.broadcast(factor)};
  }

  /// At least eps1 squared.
  Value variance(const Row &of, Value column, int64_t lanes) {
    Value v = isFactored ? b.mulf(of.factor, b.loadVector(moments[1], {of.matrix, column}, lanes))
                         : b.loadVector(moments[0], column, lanes);
    return emitMax(b, b.broadcast(least), v);
  }

  Emit &b;
  kernel::AdafactorUpdateOp op;
  Value gradient, parameter;
  bool isFactored; // of matrices, one below the other, or a vector
  ValueRange moments;
  Value sums;
  int64_t width;
  Value rows, least;
  int64_t matrices, rowsOfMatrix;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::AdafactorUpdateOp op) { AdafactorUpdate(b, op).emit(); }
