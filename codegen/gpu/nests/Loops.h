//===- Loops.h - shorthand for emitting a kernel's threads ------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_LOOPS_H
#define CODEGEN_GPU_NESTS_LOOPS_H

#include "codegen/gpu/Target.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer::simt {

using Values = SmallVector<Value>;

/// A builder with short names for the scalar loops of a thread.
class Loops : public ImplicitLocOpBuilder {
public:
  explicit Loops(Operation *op, const GpuTarget *target = nullptr)
      : ImplicitLocOpBuilder(op->getLoc(), op), target(target) {}

  const GpuTarget *const target; // what blocks are made for; null: threads have nothing in common

  Value index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
  Value integer(int64_t value) { return arith::ConstantIntOp::create(*this, value, 64); }
  Value scalar(double value) { return arith::ConstantOp::create(*this, getF32FloatAttr(value)); }
  Value real(double value) { return arith::ConstantOp::create(*this, getF64FloatAttr(value)); }
  Value add(Value x, Value y) { return arith::AddIOp::create(*this, x, y); }
  Value add(Value x, int64_t y) { return y ? add(x, index(y)) : x; }
  Value sub(Value x, Value y) { return arith::SubIOp::create(*this, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(*this, x, y); }
  Value mul(Value x, int64_t y) { return mul(x, index(y)); }
  Value div(Value x, Value y) { return arith::DivUIOp::create(*this, x, y); }
  Value div(Value x, int64_t y) { return div(x, index(y)); }
  Value rem(Value x, Value y) { return arith::RemUIOp::create(*this, x, y); }
  Value rem(Value x, int64_t y) { return rem(x, index(y)); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(*this, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(*this, x, y); }
  Value addf(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value subf(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value mulf(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value divf(Value x, Value y) { return arith::DivFOp::create(*this, x, y); }
  Value maxf(Value x, Value y) { return arith::MaximumFOp::create(*this, x, y); }
  Value widen(Value x) { return arith::ExtFOp::create(*this, getF64Type(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(*this, getF32Type(), x); }
  /// A count or an i64 as f64.
  Value toReal(Value x) {
    if (x.getType().isIndex())
      x = arith::IndexCastOp::create(*this, getI64Type(), x);
    return arith::SIToFPOp::create(*this, getF64Type(), x);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(*this, predicate, x, y);
  }
  Value less(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); } // signed
  Value equal(Value x, Value y) { return compare(arith::CmpIPredicate::eq, x, y); }
  Value differ(Value x, Value y) { return compare(arith::CmpIPredicate::ne, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(*this, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(*this, condition, x, y);
  }

  Value dim(Value buffer, unsigned d) { return memref::DimOp::create(*this, buffer, d); }
  Value load(Value buffer, ValueRange at) { return memref::LoadOp::create(*this, buffer, at); }
  /// An f32 is rounded to bf16 or f16 where the buffer holds that.
  void store(Value value, Value buffer, ValueRange at) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    if (kernel::isHalf(element) && value.getType().isF32())
      value = arith::TruncFOp::create(*this, element, value);
    memref::StoreOp::create(*this, value, buffer, at);
  }
  /// An i64 of memory as an index.
  Value loadIndex(Value buffer, ValueRange at) {
    return arith::IndexCastOp::create(*this, getIndexType(), load(buffer, at));
  }
  /// Memory between the kernels of one op: a place in the arena.
  Value buffer(ArrayRef<int64_t> shape, Type element, ValueRange dynamic = {}) {
    return memref::AllocOp::create(*this, MemRefType::get(shape, element), dynamic);
  }

  /// What the loops of threads do that are emitted from here on, for profiles.
  void describe(const Work &work, ValueRange amounts);
  /// Loops behind one another do parts of it each: their labels are numbered, and nothing is said
  /// of their operations and bytes. (One of several branches does it all.)
  void numberParts();

  /// A thread for each place below `sizes`.
  void threads(ValueRange sizes, function_ref<void(ValueRange at)> body);
  /// One thread.
  void once(function_ref<void()> body);
  /// One after the other, `values` from step to step.
  Values loop(Value from, Value to, ValueRange values,
              function_ref<Values(Value i, ValueRange values)> body);
  void forEach(Value from, Value to, function_ref<void(Value i)> body);
  void ifThen(Value condition, function_ref<void()> body);
  Values ifElse(Value condition, function_ref<Values()> then, function_ref<Values()> otherwise);
  /// Of `term` below `count`.
  Value sum(int64_t count, function_ref<Value(Value i)> term);
  /// Likewise, of blocks that are summed from zero.
  Value sum(Value count, function_ref<Value(Value i)> term);

private:
  DictionaryAttr work; // null: nobody has described it
  Values amounts;
  SmallVector<kernel::WorkOp> described;
};

/// The sequence that owns `row`.
Value sequenceOf(Loops &b, Value cu, Value row);

/// The width of `[T, W]`.
inline int64_t rowWidth(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape().back();
}

/// The bf16 or f16 that a buffer is of; null: neither.
inline FloatType halfType(Value buffer) {
  Type element = cast<ShapedType>(buffer.getType()).getElementType();
  return kernel::isHalf(element) ? cast<FloatType>(element) : FloatType();
}

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_LOOPS_H
