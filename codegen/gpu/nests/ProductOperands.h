//===- ProductOperands.h - what a matrix product multiplies -----*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_PRODUCTOPERANDS_H
#define CODEGEN_GPU_NESTS_PRODUCTOPERANDS_H

#include "codegen/gpu/nests/Loops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer::simt {

/// An expression of indices, which are not negative.
Value emitIndex(Loops &b, AffineExpr expression, ValueRange dims);

/// A dimension of a buffer, a constant where it is static.
Value sizeOf(Loops &b, Value buffer, unsigned d);
/// At a multiple of how many numbers, at most `most`, each row of a buffer begins; 1: anywhere.
int64_t alignedRows(Value buffer, int64_t most);
/// How many neighbours of a buffer, at most `most`, lie at a multiple of as many, in rows that are
/// of as many or more; 1: any number.
int64_t alignedNumbers(Value buffer, int64_t most);
/// What `buffer` holds for `count` neighbouring columns from `at` on, in as few pieces as it
/// allows.
Values loadNeighbours(Loops &b, Value buffer, AffineMap map, ValueRange at, int64_t count);
/// Whether a loop's `count` is known to be a multiple of `tile`.
bool isWhole(Value count, int64_t tile);

/// The addition to what the op writes to, which is all that its body does with that; null if there
/// is none.
arith::AddFOp additionOf(linalg::LinalgOp op);

/// One factor of the terms: a matrix of `row` (the result's row, or its column) and `depth` (the
/// term's place in the sum), in memory or computed of what is there.
class ProductOperand {
public:
  ProductOperand(linalg::LinalgOp op, Value factor);

  /// Whether it is a matrix of the loops `row` and `depth`.
  bool isMatrixOf(unsigned row, unsigned depth);

  /// What is in memory is the factor, a bf16 or f16 of the same value, or becomes the factor when
  /// it is rounded to TF32.
  bool isInMemory() const { return stored; }
  /// bf16 or f16, in memory; null: neither.
  FloatType halfType() const;
  /// What tensor cores multiply it as; null: they do not.
  FloatType tensorType() const;
  /// Where the product is none of tensor cores what is rounded to TF32 is not in memory.
  void forgetTf32();
  /// Whether the instructions that copy boxes take it: of 16 bits, whose lines begin at multiples
  /// of 16 bytes.
  bool hasBoxes() const;
  /// Whether neighbours in memory are neighbours in the sum.
  bool isAlongDepth() const;
  /// Of a number in memory.
  Value buffer() const { return stored->get(); }
  Values placeOf(Loops &b, Value row, Value depth) const;
  /// What the factor is made of has bytes with one number of it, or two neighbours of the depth.
  bool isPacked() const { return packed; }
  int64_t numbersOfByte() const { return ofByte; }
  Value bytes() const { return packed->get(); }
  Values placeOfByte(Loops &b, Value row, Value depth) const;
  /// The factor, as f32; `byte`: what to read of `bytes()` instead, or null.
  Value number(Loops &b, Value row, Value depth, Value byte = Value()) const;
  /// The size of the loop, as far as the factor's inputs tell; null: not at all.
  Value sizeOf(Loops &b, unsigned loop) const;

private:
  Values dimsOf(Value row, Value depth) const;
  Values placeIn(Loops &b, OpOperand *input, Value row, Value depth) const;
  void findBytes();

  mutable linalg::LinalgOp op; // whose methods are not const
  Value factor;
  llvm::SetVector<Operation *> slice; // of the body
  SmallVector<OpOperand *> inputs;    // that the slice reads
  OpOperand *stored = nullptr, *packed = nullptr;
  bool isTf32 = false;
  int64_t ofByte = 1;
  unsigned row = 0, depth = 0;
};

/// Of each row and column of the result, the sum over depth of left[row, depth] right[column,
/// depth].
struct Product {
  ProductOperand left, right;
  Value result;
  unsigned depth; // the loop
  arith::MulFOp multiplication;

  /// What the tensor cores multiply what is in memory as; null: they do not.
  FloatType tensorType() const {
    return left.tensorType() == right.tensorType() ? left.tensorType() : FloatType();
  }
};

/// Of buffers, or of tensors, of which less is known. Nothing: `op` is another sum of terms.
std::optional<Product> matchProduct(linalg::LinalgOp op);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_PRODUCTOPERANDS_H
