//===- NarrowProducts.h - products of numbers that are computed -*- C++ -*-===//
#ifndef CODEGEN_GPU_NARROWPRODUCTS_H
#define CODEGEN_GPU_NARROWPRODUCTS_H

#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// Scalar arithmetic in the body of a linalg op.
struct Scalars : ImplicitLocOpBuilder {
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value real(double v) { return arith::ConstantOp::create(*this, getF32FloatAttr(v)); }
  Value word(int64_t v) { return arith::ConstantIntOp::create(*this, v, 32); }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(*this, v); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(*this, x, y); }
  Value abs(Value x) { return math::AbsFOp::create(*this, x); }
  Value bits(Value x) { return arith::BitcastOp::create(*this, getI32Type(), x); }
  Value ofBits(Value x) { return arith::BitcastOp::create(*this, getF32Type(), x); }
  Value isNaN(Value x) { return arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, x, x); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(*this, condition, x, y);
  }

  /// To nearest, ties to even; a NaN stays one.
  Value toHalf(FloatType type, Value x) { return arith::TruncFOp::create(*this, type, x); }
  /// The same number; what reads it may take it as bf16, or f16.
  Value widen(Value x) {
    return kernel::isHalf(x.getType()) ? arith::ExtFOp::create(*this, getF32Type(), x).getResult()
                                       : x;
  }
  /// To TF32; a NaN stays one. Nobody but a GPU knows the op.
  Value toTf32(Value x, bool isGpu) {
    if (isGpu)
      return simt::RoundTf32Op::create(*this, x);
    Value up = arith::AddIOp::create(*this, bits(x), word(0x1000));
    return select(isNaN(x), x, ofBits(arith::AndIOp::create(*this, up, word(~0x1fff))));
  }
  /// Ties to even, into [least, most]; a NaN is 0.
  Value roundInto(Value x, double least, double most) {
    Value rounded = math::RoundEvenOp::create(*this, x);
    rounded = arith::MaximumFOp::create(*this, rounded, real(least));
    rounded = arith::MinimumFOp::create(*this, rounded, real(most));
    return select(isNaN(x), real(0), rounded);
  }
  /// Not a number where x is infinite or none, else 0.
  Value poison(Value x) { return mul(x, real(0)); }
};

using Body = function_ref<Value(Scalars &b, ValueRange inputs)>;

/// Numbers of 16 bits in 16 bytes, at multiples of which rows begin.
constexpr int64_t halvesOfPiece = 8;

/// Rows of 16-bit numbers to write, [rows, width], each of which begins at a multiple of 16 bytes:
/// boxes of those can be copied.
Value emptyRows(ImplicitLocOpBuilder &b, FloatType type, int64_t width, OpFoldResult rows);

/// One elementwise op that writes `out`, or over `shape`.
Value elementwise(ImplicitLocOpBuilder &b, Value out, ValueRange inputs,
                  ArrayRef<AffineMap> inputMaps, Body body);
Value elementwise(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, ValueRange sizes, Type element,
                  ValueRange inputs, ArrayRef<AffineMap> inputMaps, Body body);

/// Rows [rows, width] of f32, rounded to bf16 or f16.
Value rounded(ImplicitLocOpBuilder &b, Value rows, FloatType type);
/// Whether an op is that, of rows or a tensor of another rank.
bool isRounding(linalg::GenericOp op);
/// The rounded rows in front of `op`: what is there by now, or made.
Value roundBefore(Operation *op, Value rows, FloatType type);

/// The largest number from `from` up to `end`, at least 0, of what `at` gives.
Value largest(Scalars &b, Value from, Value end, function_ref<Value(Scalars &, Value)> at);

/// What a product multiplies: `number` of what it reads.
struct Factor {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  std::function<Value(Scalars &b, ValueRange inputs)> number;
};

/// An operand of `product` as it is, in f32 or 16 bits.
Factor operandOf(linalg::MatmulOp product, unsigned i);

/// The sum of terms of both, in place of `product`.
void replaceProduct(linalg::MatmulOp product, const Factor &left, const Factor &right);

} // namespace mlir::transformer

#endif // CODEGEN_GPU_NARROWPRODUCTS_H
