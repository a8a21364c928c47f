//===- Words.h - rows as words of two bfloat16, on tensors ------*- C++ -*-===//
#ifndef CODEGEN_CPU_LINEAR_WORDS_H
#define CODEGEN_CPU_LINEAR_WORDS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::transformer {

inline int64_t widthOf(Value rows) { return cast<RankedTensorType>(rows.getType()).getDimSize(1); }

/// That hold so many features.
inline int64_t wordsOf(int64_t features) { return llvm::divideCeil(features, 2); }

/// Memory for words of `rows`, so many a row.
inline Value emptyWords(ImplicitLocOpBuilder &b, Value rows, int64_t words) {
  OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), rows, 0);
  return tensor::EmptyOp::create(b, {count, b.getIndexAttr(words)}, b.getI32Type());
}

/// The words of `rows`, so many a row.
inline Value roundRows(ImplicitLocOpBuilder &b, Value rows, int64_t words) {
  Value empty = emptyWords(b, rows, words);
  return cpu::Bfloat16RowsOp::create(b, TypeRange{empty.getType()}, rows, ValueRange{empty},
                                     ActivationKindAttr())
      .getResult(0);
}

/// Whether all that it reads of rows is how many there are.
inline bool countsRows(Operation *op) {
  auto dim = dyn_cast<tensor::DimOp>(op);
  return dim && dim.getConstantIndex() == 0;
}

/// Whether it is what a product over tokens rounds.
inline bool isRoundedFactor(OpOperand &use) {
  auto product = dyn_cast<cpu::WeightGradientOp>(use.getOwner());
  return product && !product.getMatrices() && use.getOperandNumber() < 2 &&
         getElementTypeOrSelf(product.getOuts()[1]).isInteger();
}

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_WORDS_H
