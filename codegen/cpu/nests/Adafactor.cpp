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
        moments(op.getOuts().drop_front().drop_back()), sums(op.getOuts().back()),
        width(rowWidth(parameter)), rows(b.dim(sums, 0)) {}

  void emit() {
    forEachRow("moments", 2, [&](Value row) {
      isFactored() ? updateRowVariance(row) : updateVariance();
      b.store(squaresOfParameter(row), sums, row);
    });
    Value rootMeanSquare = math::SqrtOp::create(b, mean(sums, width));
    Value size = b.mulf(op.getRate(), max(op.getEps2(), rootMeanSquare));
    if (isFactored()) {
      updateColumnVariances();
      meanOfRows = emitMax(b, narrow(op.getEps1()), narrow(mean(moments[0], 1)));
    }
    Value eps = op.getEps1();
    least = narrow(b.mulf(eps, eps));
    forEachRow("squares", 1, [&](Value row) {
      Value factor = rowFactor(row);
      Value sum = sumOf([&](Value column, int64_t lanes) {
        Value g = scaledGradient(row, column, lanes);
        return b.divf(b.mulf(g, g), variance(factor, column, lanes));
      });
      b.store(sum, sums, row);
    });
    Value excess = b.divf(math::SqrtOp::create(b, mean(sums, width)), op.getClipThreshold());
    Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
    size = narrow(b.divf(size, max(one, excess)));
    forEachRow("weights", 3, [&](Value row) {
      Value factor = rowFactor(row), each = b.broadcast(size), shrink = b.broadcast(op.getShrink());
      sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
        Value root = math::SqrtOp::create(b, variance(factor, column, lanes));
        Value update = b.divf(scaledGradient(row, column, lanes), root);
        Value p = b.mulf(shrink, b.loadVector(parameter, at(row, column), lanes));
        b.storeVector(b.subf(p, b.mulf(each, update)), parameter, at(row, column), lanes);
        return Value();
      });
    });
  }

private:
  bool isFactored() const { return moments.size() == 2; }

  Values at(Value row, Value column) const {
    return isFactored() ? Values{row, column} : Values{column};
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

  void updateColumnVariances() {
    auto wide = VectorType::get({b.lanes()}, b.getF64Type());
    auto work = rowWork("adafactor_update columns", "rows", width, 1);
    forEachColumns(b, work, rows, width, [&](const ColumnBlock &block) {
      Values zeros(block.vectors, arith::ConstantOp::create(b, b.getZeroAttr(wide)));
      Values sums = b.loop(b.index(0), rows, 1, zeros, [&](Value row, ValueRange before) {
        Values next;
        for (auto [i, sum] : llvm::enumerate(before)) {
          Value g = scaledGradient(row, block.column(i), block.lanes(i));
          next.push_back(b.addf(sum, arith::ExtFOp::create(b, wide, b.mulf(g, g))));
        }
        return next;
      });
      auto count = cast<MemRefType>(parameter.getType()).getDimSize(0);
      Value number =
          arith::ConstantOp::create(b, DenseElementsAttr::get(wide, static_cast<double>(count)));
      for (auto [i, sum] : llvm::enumerate(sums)) {
        Values place = {b.index(0), block.column(i)};
        Value squares = arith::TruncFOp::create(b, b.vectorType(), b.divf(sum, number));
        Value before = b.loadVector(moments[1], place, block.lanes(i));
        b.storeVector(blend(before, squares), moments[1], place, block.lanes(i));
      }
    });
  }

  /// What the moments of the columns are multiplied by; nothing of a vector.
  Value rowFactor(Value row) {
    if (!isFactored())
      return {};
    return b.broadcast(b.divf(b.load(moments[0], {row, b.index(0)}), meanOfRows));
  }

  /// At least eps1 squared.
  Value variance(Value factor, Value column, int64_t lanes) {
    Value v = isFactored() ? b.mulf(factor, b.loadVector(moments[1], {b.index(0), column}, lanes))
                           : b.loadVector(moments[0], column, lanes);
    return emitMax(b, b.broadcast(least), v);
  }

  Emit &b;
  kernel::AdafactorUpdateOp op;
  Value gradient, parameter;
  ValueRange moments;
  Value sums;
  int64_t width;
  Value rows, meanOfRows, least;
};

} // namespace

void transformer::emitNest(Emit &b, kernel::AdafactorUpdateOp op) { AdafactorUpdate(b, op).emit(); }
