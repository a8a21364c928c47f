//===- LinearFormat.h - how the products of a linear layer are summed -----===//
//
// A format says what x and the weight become, what a step of the sum adds and how
// long a sum may get. Passes know formats by this interface only: one file a
// format, one line in LinearFormat.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_LINEARFORMAT_H
#define CODEGEN_CPU_LINEAR_LINEARFORMAT_H

#include "codegen/Target.h"
#include "dialect/TransformerDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {

/// A linear layer's x `[T, K]` and weight, `[N, K]` (`out_in`) or `[K, N]` (`in_out`).
struct LinearOperands {
  Value x, weight;
  WeightLayout layout;
  /// About the mean squares of x's columns, `[K]`; null where nothing is known.
  Value squares;

  int64_t inputs() const { return widthOf(x); }
  int64_t outputs() const;
};

/// What a contraction multiplies: x in steps, `[T, S]` or `[T, S, products]`, and
/// the weight in panels, `[P, S, NR]` or `[P, S, products, NR]`.
struct LinearFactors {
  Value x, panels;
  /// What the format's epilogue reads beside the sums, with maps from (t, p, j).
  SmallVector<Value> epilogue;
  SmallVector<AffineMap> epilogueMaps;
};

/// A part of a step: adds to `sum` what x and the panel hold at `products`, places
/// in the step. Values are f32 or vectors of it.
struct LinearTerm {
  SmallVector<int64_t> products;
  Value (*add)(ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum);
};

class LinearFormat {
public:
  virtual ~LinearFormat() = default;

  virtual StringRef name() const = 0;
  /// Whether a layer of K inputs is computed like this on `target`. The first format
  /// of linearFormats() that is takes it.
  virtual bool fits(const CpuTarget &target, int64_t k) const = 0;

  /// The register tile: rows, and columns of a panel (NR).
  virtual int64_t tileRows(const CpuTarget &target) const = 0;
  virtual int64_t tileColumns(const CpuTarget &target) const = 0;

  /// Products of a step.
  virtual int64_t products() const = 0;
  virtual ArrayRef<LinearTerm> terms() const = 0;
  /// Most steps that one accumulator sums (`transformer-cpu-sum-in-blocks`). What
  /// blocks k is a multiple of it.
  virtual int64_t sumSteps() const = 0;

  /// Emits the factors; panels have `columns` columns, the last one padded with zeros.
  virtual LinearFactors emitFactors(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                                    int64_t columns) const = 0;
  /// The result of a sum, from the elements of LinearFactors::epilogue.
  virtual Value finish(ImplicitLocOpBuilder &b, ArrayRef<Value> epilogue, Value sum) const {
    return sum;
  }
};

/// All formats, the one that fits everything last.
ArrayRef<const LinearFormat *> linearFormats();
const LinearFormat &linearFormatFor(const CpuTarget &target, int64_t k);
/// Null if there is none of that name.
const LinearFormat *linearFormatNamed(StringRef name);

/// Emits the weights of `operands` as panels of `type`, by `transformer_kernel.pack_weight`.
Value emitPackedWeight(ImplicitLocOpBuilder &b, const LinearOperands &operands, Value scales,
                       ArrayRef<int64_t> shape);

/// x w + sum and sum - x w of scalars (two operations that later become one) or vectors.
Value emitMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value w, Value sum);
Value emitMultiplySubtract(ImplicitLocOpBuilder &b, Value x, Value w, Value sum);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARFORMAT_H
