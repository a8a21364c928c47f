//===- LinearFormat.h - how the products of a linear layer are summed -----===//
//
// A format says what x and the weight become, what a step of the sum adds and how
// long a sum may get. Passes know formats by this interface only: one file a
// format, one line in LinearFormat.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_LINEARFORMAT_H
#define CODEGEN_CPU_LINEAR_LINEARFORMAT_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "dialect/TransformerDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <functional>
#include <optional>

namespace mlir::transformer {

/// A linear layer's x `[T, K]` and weight, `[N, K]` (`out_in`) or `[K, N]` (`in_out`).
struct LinearOperands {
  Value x, weight;
  WeightLayout layout;
  /// What the weight is rounded to; none: it is not.
  std::optional<WeightFormat> format;
  /// About the mean squares of x's columns, `[K]`; null where nothing is known.
  Value squares;
  /// Whether x is rounded as well: to bfloat16, or for weights of integers to such.
  bool hasRoundedRows = false;

  int64_t inputs() const { return widthOf(x); }
  int64_t outputs() const;
  /// Whether each call of the program gets the weight, an input or state: it is no parameter, whose
  /// panels are made when it is loaded.
  bool isOfCalls() const;
  /// Whether rows are tokens of whole sequences alone: no call passes just the next ones.
  bool isOfSequences() const;
};

/// What a contraction multiplies: x in steps, `[T, S]` or `[T, S, places]`, and
/// the weight in panels, `[P, S, NR]` or `[P, S, places, NR]`; for matrix registers
/// `[places, T, S]` and `[P, places, S, NR]`. With `scales`,
/// `[P, S, NR]`, what a step sums up to is multiplied by its scale; in a format of words a step is
/// a group of these: x `[T, S, words, places]` and panels `[P, S, words, NR]`.
struct LinearFactors {
  Value x, panels;
  /// What the format's epilogue reads beside the sums, with maps from (t, p, j).
  SmallVector<Value> epilogue = {};
  SmallVector<AffineMap> epilogueMaps = {};
  Value scales = {}; // may be null
};

/// A part of a step: adds to `sum` what x and the panel hold at `products`, places
/// in the step. Values of x and the sum are f32, those of
/// w as panels hold them, or vectors.
struct LinearTerm {
  SmallVector<int64_t> products;
  Value (*add)(ImplicitLocOpBuilder &b, ArrayRef<Value> x, ArrayRef<Value> w, Value sum);
};

/// A step of a tile, as a format adds it: scalars in a contraction, which has one row and panel,
/// vectors of a panel's columns where code is emitted.
struct LinearStep {
  int64_t rows, panels;
  Type sum; // of a row and panel
  std::function<Value(int64_t row, int64_t place)> x;
  std::function<Value(int64_t panel, int64_t row)> w; // a row of the panel's
  std::function<Value(int64_t panel)> scale;          // as f32
};

/// Rows that go through several panels at once.
struct FewRowsTile {
  int64_t rows, panels;

  /// As many rows as fill half of the registers with sums.
  static FewRowsTile of(cpu::TargetAttr target, int64_t panels, int64_t vectorsOfPanel) {
    return {target.getVectorRegisters() / (2 * panels * vectorsOfPanel), panels};
  }
};

class LinearFormat {
public:
  virtual ~LinearFormat() = default;

  virtual StringRef name() const = 0;
  /// The rounded weights that panels hold; none for float32.
  virtual std::optional<WeightFormat> weightFormat() const { return std::nullopt; }
  /// Whether rows that are rounded are multiplied as such.
  virtual bool readsRoundedRows() const { return false; }
  /// Whether such a layer is computed like this on `target`. The first format
  /// of linearFormats() for its weight that is takes it.
  virtual bool fits(cpu::TargetAttr target, const LinearOperands &operands) const { return true; }

  /// Whether tiles are products of matrix registers: `transformer_cpu.multiply_matrices` in place
  /// of a loop over steps, with sums that are in memory when the epilogue reads them. Steps are
  /// whole registers; any number of rows up to the tile's is a tile.
  virtual bool usesMatrixRegisters() const { return false; }

  /// The register tile: rows, and columns of a panel (NR).
  virtual int64_t tileRows(cpu::TargetAttr target) const = 0;
  virtual int64_t tileColumns(cpu::TargetAttr target) const = 0;
  /// The tile of a task that has fewer rows than would hide the latency of additions and of memory;
  /// of one panel if there is nothing to hide.
  virtual FewRowsTile fewRowsTile(cpu::TargetAttr target) const { return {1, 1}; }

  /// Bytes that hold a column of K weights.
  virtual int64_t columnBytes(int64_t k) const { return 4 * k; }
  /// Bytes that hold K features of a row.
  virtual int64_t rowBytes(int64_t k) const { return 4 * k; }

  /// Products of a step.
  virtual int64_t products() const = 0;
  /// Places of x in a step, or in a word of a group.
  virtual int64_t places() const { return products(); }
  /// Words of a step that is a group; 0: steps are no groups. A group's sum starts from x's last
  /// place in its first word.
  virtual int64_t words() const { return 0; }
  /// What place u of x is multiplied by, from a word, as `type`: f32 or vectors of it.
  virtual Value weightOfWord(ImplicitLocOpBuilder &b, Value word, OpFoldResult u, Type type) const {
    llvm_unreachable("steps are no groups");
  }
  /// Rows of the panel in a step.
  virtual int64_t panelRows() const { return words() ? words() : products(); }
  /// Of a step; none if it is a group.
  virtual ArrayRef<LinearTerm> terms() const { return {}; }
  /// Adds a step that is no group of words to the sums of rows, and within a row of panels. With
  /// one panel a row's terms stand together, so that additions and multiply-adds alternate and
  /// nothing waits in a register; with several all rows take a term before the next, as each x is
  /// used by all panels.
  virtual void addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
                       MutableArrayRef<Value> sums) const;
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
/// Null where the target has none for rows of such numbers.
const LinearFormat *linearFormatFor(cpu::TargetAttr target, const LinearOperands &operands);
/// Null if there is none of that name.
const LinearFormat *linearFormatNamed(StringRef name);

/// Emits the weights of `operands` as panels of `type`, by `transformer_cpu.pack_weight`.
Value emitPackedWeight(ImplicitLocOpBuilder &b, const LinearOperands &operands, Value scales,
                       ArrayRef<int64_t> shape, Type element);
/// Emits the scales of their columns, `[P, groups, columns]`, by `transformer_cpu.weight_scales`.
Value emitWeightScales(ImplicitLocOpBuilder &b, const LinearOperands &operands, int64_t groups,
                       int64_t columns, Type element);

/// A constant of i32, as a vector where `like` is one.
Value emitWord(ImplicitLocOpBuilder &b, Value like, uint32_t bits);

/// x w + sum and sum - x w of scalars (two operations that later become one) or vectors.
Value emitMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value w, Value sum);
Value emitMultiplySubtract(ImplicitLocOpBuilder &b, Value x, Value w, Value sum);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARFORMAT_H
