//===- Rows.cpp - sweeps over the columns of a row ------------------------===//
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

Values
transformer::sweepRow(Emit &b, int64_t width, ValueRange init,
                      function_ref<Value(Value column, int64_t lanes, Value accumulator)> body) {
  int64_t lanes = b.lanes(), group = lanes * sweepUnroll;
  int64_t looped = width / group * group;
  auto vector = [&](Values &accumulators, int64_t i, Value column, int64_t count) {
    Value next = body(column, count, accumulators.empty() ? Value() : accumulators[i]);
    if (!accumulators.empty())
      accumulators[i] = next;
  };
  Values result(init);
  if (looped)
    result = b.loop(b.index(0), b.index(looped), group, init, [&](Value column, ValueRange args) {
      Values accumulators(args);
      for (int64_t i = 0; i < sweepUnroll; ++i)
        vector(accumulators, i, b.add(column, i * lanes), lanes);
      return accumulators;
    });
  for (int64_t i = 0, column = looped; column < width; ++i, column += lanes)
    vector(result, i, b.index(column), std::min(lanes, width - column));
  return result;
}

Value transformer::sumRow(
    Emit &b, int64_t width,
    function_ref<Value(Value column, int64_t lanes, Value accumulator)> accumulate) {
  Values zeros(sweepUnroll, b.splat(0));
  return b.sumLanes(b.sumTree(sweepRow(b, width, zeros, accumulate)));
}

static SmallVector<Value> append(ValueRange at, Value column) {
  SmallVector<Value> result(at);
  result.push_back(column);
  return result;
}

void transformer::copyRow(Emit &b, int64_t width, Value source, ValueRange from, Value result,
                          ValueRange to) {
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    Value x = b.loadVector(source, append(from, column), lanes);
    b.storeVector(x, result, append(to, column), lanes);
    return Value();
  });
}

void transformer::zeroRow(Emit &b, int64_t width, Value result, ValueRange to) {
  Value zero = b.splat(0);
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    b.storeVector(zero, result, append(to, column), lanes);
    return Value();
  });
}

void transformer::zeroColumns(Emit &b, int64_t width, Value result, Value row, Value first) {
  Value zero = b.splat(0);
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    b.storeVector(zero, result, {row, b.add(first, column)}, lanes);
    return Value();
  });
}

Value transformer::inverseDeviation(Emit &b, Value variance, NormAttr norm) {
  Value eps = b.scalar(norm.getEps().convertToDouble());
  Value deviation = norm.getEpsOutside()
                        ? b.addf(math::SqrtOp::create(b, variance), eps)
                        : math::SqrtOp::create(b, b.addf(variance, eps)).getResult();
  return b.broadcast(b.divf(b.scalar(1), deviation));
}

void transformer::divideRow(Emit &b, int64_t width, Value squares, Value source, Value row,
                            Value first, const NormInputs &inputs, StoreVector store) {
  Value inverse = inverseDeviation(b, b.divf(squares, b.scalar(width)), inputs.norm);
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    Value at = b.add(first, column);
    Value x = b.loadVector(source, {row, at}, lanes);
    Value gamma = b.loadVector(inputs.gamma, column, lanes);
    store(b.mulf(b.mulf(x, inverse), gamma), at, lanes);
    return Value();
  });
}

void transformer::normalizeRow(Emit &b, int64_t width, Value sum, Value source, Value row,
                               const NormInputs &inputs, StoreVector store) {
  Value mean = b.broadcast(b.divf(sum, b.scalar(width)));
  Value squares = sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
    Value d = b.subf(b.loadVector(source, {row, column}, lanes), mean);
    if (lanes < b.lanes())
      d = b.select(b.lanesBelow(lanes), d, b.splat(0));
    return emitFma(b, d, d, accumulator);
  });
  Value variance = b.divf(squares, b.scalar(inputs.norm.getUnbiased() ? width - 1 : width));
  Value inverse = inverseDeviation(b, variance, inputs.norm);
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    Value d = b.subf(b.loadVector(source, {row, column}, lanes), mean);
    Value gamma = b.loadVector(inputs.gamma, column, lanes);
    Value beta = b.loadVector(inputs.beta, column, lanes);
    store(emitFma(b, b.mulf(d, inverse), gamma, beta), column, lanes);
    return Value();
  });
}

std::pair<Value, Value> transformer::taskRange(Emit &b, Value task, int64_t size, Value count) {
  Value lower = b.mul(task, size);
  return {lower, b.min(b.add(lower, size), count)};
}

int64_t transformer::rowWidth(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape().back();
}

Value transformer::loadColumns(Emit &b, VectorType type, Value x, Value row, Value first,
                               int64_t count) {
  if (count >= type.getNumElements())
    return vector::LoadOp::create(b, type, x, ValueRange{row, first});
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  if (count <= 0)
    return zeros;
  Value there =
      vector::ConstantMaskOp::create(b, type.clone(b.getI1Type()), ArrayRef<int64_t>{count});
  return vector::MaskedLoadOp::create(b, type, x, ValueRange{row, first}, there, zeros);
}

void transformer::forEachGroup(Emit &b, const Work &work, Value x,
                               function_ref<void(Value, Value, int64_t)> emit) {
  Value rows = b.dim(x, 0);
  int64_t k = rowWidth(x), whole = k / weightGroup, size = Emit::itemsPerTask(k);
  b.parallel(work, {rows}, b.ceilDiv(rows, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, rows);
    b.forEach(lower, upper, 1, [&](Value row) {
      b.forEach(b.index(0), b.index(whole), 1, [&](Value group) { emit(row, group, weightGroup); });
      if (whole * weightGroup < k)
        emit(row, b.index(whole), k - whole * weightGroup);
    });
  });
}
