//===- Emit.h - shorthand for emitting loop nests -------------------------===//
#ifndef CODEGEN_CPU_NESTS_EMIT_H
#define CODEGEN_CPU_NESTS_EMIT_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

using Values = SmallVector<Value>;

/// A builder with short names for the ops of a loop nest. Vectors have the
/// target's width; nothing here may be reassociated, so the order in which
/// values are added is the order of the calls.
class Emit : public ImplicitLocOpBuilder {
public:
  Emit(Operation *op, cpu::TargetAttr target)
      : ImplicitLocOpBuilder(op->getLoc(), op), target(target) {}

  cpu::TargetAttr target;

  /// f32 lanes of a vector (VL).
  int64_t lanes() const { return target.getVectorLanes(); }
  VectorType vectorType() { return VectorType::get({lanes()}, getF32Type()); }

  // Constants.
  Value index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
  Value boolean(bool value) { return arith::ConstantIntOp::create(*this, getI1Type(), value); }
  Value scalar(double value);
  Value splat(double value);

  // Index arithmetic, unsigned.
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value add(Value a, int64_t b) { return b ? add(a, index(b)) : a; }
  Value sub(Value a, Value b) { return arith::SubIOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(*this, a, b); }
  Value mul(Value a, int64_t b) { return b == 1 ? a : mul(a, index(b)); }
  Value div(Value a, int64_t b) { return b == 1 ? a : div(a, index(b)); }
  Value div(Value a, Value b) { return arith::DivUIOp::create(*this, a, b); }
  Value rem(Value a, Value b) { return arith::RemUIOp::create(*this, a, b); }
  Value ceilDiv(Value a, int64_t b) { return div(add(a, b - 1), b); }
  Value ceilDiv(Value a, Value b) { return arith::CeilDivUIOp::create(*this, a, b); }
  Value min(Value a, Value b) { return arith::MinUIOp::create(*this, a, b); }
  Value max(Value a, Value b) { return arith::MaxUIOp::create(*this, a, b); }
  /// Of an index that may be negative.
  Value notNegative(Value a) { return arith::MaxSIOp::create(*this, a, index(0)); }
  Value lt(Value a, Value b) { return compare(arith::CmpIPredicate::ult, a, b); }
  Value le(Value a, Value b) { return compare(arith::CmpIPredicate::ule, a, b); }
  Value eq(Value a, Value b) { return compare(arith::CmpIPredicate::eq, a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(*this, predicate, a, b);
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(*this, a, b); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }

  // Float arithmetic, on f32 or vectors of it; VectorMath.h has fma, max, min.
  Value addf(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value subf(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value mulf(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value divf(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
  Value broadcast(Value x) { return vector::BroadcastOp::create(*this, vectorType(), x); }

  /// All lanes of `x` combined by a tree of halves: an order that only the
  /// width fixes.
  Value reduce(Value x, function_ref<Value(Value, Value)> combine);
  Value sumLanes(Value x);
  /// The largest lane; a NaN may be lost.
  Value maxLane(Value x);
  /// The sum of values by a tree.
  Value sumTree(ValueRange values);

  /// The transpose of a square of vectors by exchanging off-diagonal blocks of
  /// 1, 2, 4, ... lanes.
  void transposeSquare(Values &x);

  // Memory.
  Value dim(Value buffer, int64_t i) { return memref::DimOp::create(*this, buffer, i); }
  Value load(Value buffer, ValueRange at) { return memref::LoadOp::create(*this, buffer, at); }
  void store(Value x, Value buffer, ValueRange at) {
    memref::StoreOp::create(*this, x, buffer, at);
  }
  /// The first `count` lanes from memory, zeros behind them.
  Value loadVector(Value buffer, ValueRange at, int64_t count);
  Value loadVector(Value buffer, ValueRange at) { return loadVector(buffer, at, lanes()); }
  /// The first `count` lanes to memory.
  void storeVector(Value x, Value buffer, ValueRange at, int64_t count);
  void storeVector(Value x, Value buffer, ValueRange at) { storeVector(x, buffer, at, lanes()); }
  /// Fetches `count` elements of a row of `buffer` into the cache of `level`, 1 or 2.
  void prefetchRow(Value buffer, Value row, Value column, int64_t count, int64_t level = 2);
  /// Lanes below `count`.
  Value lanesBelow(int64_t count);
  /// Lanes `first + i` of an ascending count that are below `limit`, an index
  /// that may be negative.
  Value lanesBelow(Value limit, int64_t first);
  /// The lane whose number that is, an index that may be negative or too large.
  Value laneEqual(Value number);
  /// A buffer on the stack for the loop body at hand, of f32 if nothing else is said.
  Value stackBuffer(ArrayRef<int64_t> shape, Type element = {});

  // Control flow.
  Values loop(Value lower, Value upper, int64_t step, ValueRange init,
              function_ref<Values(Value, ValueRange)> body);
  void forEach(Value lower, Value upper, int64_t step, function_ref<void(Value)> body);
  /// Calls `body` for 0 .. count - 1, or lower .. upper - 1, with what it carries, a few steps of
  /// the loop at a time.
  Values unrolledLoop(int64_t count, Values init, function_ref<void(Value, Values &)> body);
  Values unrolledLoop(Value lower, Value upper, Values init,
                      function_ref<void(Value, Values &)> body);
  /// The parallel loop `0 .. count - 1`; profiles say that it does `work`, as
  /// often as `amounts` say.
  void parallel(const Work &work, ValueRange amounts, Value count, function_ref<void(Value)> body);
  Values ifElse(Value condition, TypeRange types, function_ref<Values()> thenBody,
                function_ref<Values()> elseBody);
  void ifThen(Value condition, function_ref<void()> body);
  /// The largest b in `0 .. count - 1` with `start(b) <= position`; start
  /// ascends and `start(0) <= position`.
  Value findSegment(Value count, Value position, function_ref<Value(Value)> start);

  /// How many items of `elements` floats make a task that is worth handing to a
  /// thread: a few microseconds of work.
  static int64_t itemsPerTask(int64_t elements);

private:
  /// Lanes `first + i` of an ascending count, each with the same index.
  Value compareLanes(arith::CmpIPredicate predicate, Value number, int64_t first);
};

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_EMIT_H
