//===- Operations.h - what each op computes ---------------------*- C++ -*-===//
//
// For each op group: the formulas as functions on tensors, then `evaluate` for
// each op, which reads operands from the frame, checks what the verifier
// cannot see (sizes known at run time) and sets the results.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECT_REFERENCE_OPERATIONS_H
#define DIALECT_REFERENCE_OPERATIONS_H

#include "dialect/GradientOps.h"
#include "dialect/OptimizerOps.h"
#include "dialect/QuantizeOps.h"
#include "dialect/reference/Frame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::transformer::reference {

// Calls and parameters: Interpreter.cpp.
LogicalResult evaluate(func::CallOp op, Frame &frame);
LogicalResult evaluate(GetParameterOp op, Frame &frame);

// Sequences: Sequence.cpp.
LogicalResult evaluate(PackTokensOp op, Frame &frame);
LogicalResult evaluate(UnpackTokensOp op, Frame &frame);
LogicalResult evaluate(FirstTokenOp op, Frame &frame);
LogicalResult evaluate(LastTokenOp op, Frame &frame);
LogicalResult evaluate(ClearEmptyOp op, Frame &frame);
LogicalResult evaluate(UniformSequencesOp op, Frame &frame);
LogicalResult evaluate(TokenColumnsOp op, Frame &frame);

// Patches and windows: Window.cpp.
LogicalResult evaluate(PatchesOp op, Frame &frame);
LogicalResult evaluate(WindowsOp op, Frame &frame);

// Training: Gradients.cpp, but attention's in Attention.cpp.
LogicalResult evaluate(ShiftLabelsOp op, Frame &frame);
LogicalResult evaluate(LabelledTokensOp op, Frame &frame);
LogicalResult evaluate(CrossEntropyOp op, Frame &frame);
LogicalResult evaluate(CrossEntropyGradientOp op, Frame &frame);
LogicalResult evaluate(ElementLossOp op, Frame &frame);
LogicalResult evaluate(ElementLossGradientOp op, Frame &frame);
LogicalResult evaluate(SpanLossOp op, Frame &frame);
LogicalResult evaluate(SpanLossGradientOp op, Frame &frame);
LogicalResult evaluate(CountLabelsOp op, Frame &frame);
LogicalResult evaluate(CountSpansOp op, Frame &frame);
LogicalResult evaluate(LinearWeightGradientOp op, Frame &frame);
LogicalResult evaluate(SumRowsOp op, Frame &frame);
LogicalResult evaluate(ActivationGradientOp op, Frame &frame);
LogicalResult evaluate(LayerNormGradientOp op, Frame &frame);
LogicalResult evaluate(RmsNormGradientOp op, Frame &frame);
LogicalResult evaluate(EmbeddingGradientOp op, Frame &frame);
LogicalResult evaluate(RotaryEmbeddingGradientOp op, Frame &frame);
LogicalResult evaluate(WindowsGradientOp op, Frame &frame);
LogicalResult evaluate(TokenGradientOp op, Frame &frame);
LogicalResult evaluate(RelativeScoresGradientOp op, Frame &frame);
LogicalResult evaluate(AttentionGradientOp op, Frame &frame);

// Optimizers: Optimizer.cpp.
LogicalResult evaluate(SumSquaresOp op, Frame &frame);
LogicalResult evaluate(ClipGradNormOp op, Frame &frame);
LogicalResult evaluate(AdamWUpdateOp op, Frame &frame);
LogicalResult evaluate(SgdUpdateOp op, Frame &frame);
LogicalResult evaluate(AdafactorUpdateOp op, Frame &frame);

// Embeddings: Embedding.cpp.

/// The value of `sinusoidal_table` at (position, column) for rows of `width`.
double sinusoid(int64_t position, int64_t column, int64_t width, SinusoidLayout layout);
LogicalResult evaluate(EmbeddingOp op, Frame &frame);
LogicalResult evaluate(SinusoidalTableOp op, Frame &frame);
LogicalResult evaluate(SinusoidalPositionOp op, Frame &frame);
LogicalResult evaluate(EmbeddingLayerNormOp op, Frame &frame);
LogicalResult evaluate(RotaryTableOp op, Frame &frame);
LogicalResult evaluate(RotaryEmbeddingOp op, Frame &frame);

// Layers: Layer.cpp.

/// `[T, K]` times a weight (see `linear`), plus bias `[N]` if there is one: `[T, N]`.
Tensor linear(const Tensor &x, const Tensor &weight, const Tensor *bias, WeightLayout layout);
/// Sum of two tensors of one shape.
Tensor add(const Tensor &a, const Tensor &b);
/// `[T, W]`, gamma and beta `[W]`: `[T, W]`.
Tensor layerNorm(const Tensor &x, const Tensor &gamma, const Tensor &beta, NormAttr norm);
/// `[T, W]`, gamma `[W]`: `[T, W]`.
Tensor rmsNorm(const Tensor &x, const Tensor &gamma, NormAttr norm);
/// To nearest, ties to even (of TF32 away from zero); a float is what it becomes. `anyExponent`: of
/// those digits alone.
double roundTo(const llvm::fltSemantics &format, double x, bool anyExponent = false);
/// What `format` holds of a weight; the definition that every target keeps to.
Tensor quantizeWeight(const Tensor &weight, WeightFormat format, WeightLayout layout);
/// `[T, K]` in bf16, f16 or int8; the definition that every target keeps to.
Tensor quantizeRows(const Tensor &x, WeightFormat format);
double activate(ActivationKind kind, double x);
Tensor activate(ActivationKind kind, Tensor x);
LogicalResult evaluate(LinearOp op, Frame &frame);
LogicalResult evaluate(QuantizeWeightOp op, Frame &frame);
LogicalResult evaluate(QuantizeRowsOp op, Frame &frame);
LogicalResult evaluate(SplitOp op, Frame &frame);
LogicalResult evaluate(LayerNormOp op, Frame &frame);
LogicalResult evaluate(ResidualLayerNormOp op, Frame &frame);
LogicalResult evaluate(RmsNormOp op, Frame &frame);
LogicalResult evaluate(ResidualRmsNormOp op, Frame &frame);
LogicalResult evaluate(ActivationOp op, Frame &frame);

// Dropout: Dropout.cpp.

/// What dropout multiplies numbers by: 0, or 1 / (1 - rate).
class DropoutFactors {
public:
  /// Without a key it is always 1.
  DropoutFactors(const Tensor *key, double rate);
  double at(int64_t row, int64_t column, int64_t stream) const;

private:
  bool isThere;
  uint64_t key, below; // numbers below it are dropped
  double scale;
};
LogicalResult evaluate(DropoutOp op, Frame &frame);

// Attention: Attention.cpp.

struct AttentionInputs {
  int64_t numHeads, numKvHeads;
  double scale;
  AttentionOptionsAttr options;
  const Tensor *bias = nullptr; // `[H, P]`, `[H]` or none
  // Disentangled: `[Tq, H * P]`, `[Tk, Hkv * P]`, either may be none, and the column of a distance.
  const Tensor *queryScores = nullptr, *keyScores = nullptr;
  llvm::ArrayRef<int32_t> columns = {};
  const Tensor *dropoutKey = nullptr;
};
/// q `[Tq, H * D]`, k and v `[Tk, Hkv * D]`: `[Tq, H * D]`, and the logarithms of
/// the sums, `[Tq, H]`, to `logSumExp` if it is given.
Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v, const Sequences &queries,
                 const Sequences &keys, const AttentionInputs &inputs, Tensor *logSumExp = nullptr);
/// Fails unless x has as many rows as `sequences` has tokens, and both sides
/// of a cross-attention (`keys` may be `queries`) have one batch size.
LogicalResult checkRows(Operation *op, Frame &frame, llvm::StringRef what, const Tensor &x,
                        const Sequences &sequences);
LogicalResult checkBatch(Operation *op, Frame &frame, const Sequences &queries,
                         const Sequences &keys);
LogicalResult evaluate(RelativeScoresOp op, Frame &frame);
LogicalResult evaluate(AttentionOp op, Frame &frame);

// Caches of keys and values: Cache.cpp.
LogicalResult evaluate(AppendPagesOp op, Frame &frame);
LogicalResult evaluate(PagedAttentionOp op, Frame &frame);

// Composites, from their definitions: Composite.cpp.
LogicalResult evaluate(MultiHeadAttentionOp op, Frame &frame);
LogicalResult evaluate(FeedForwardOp op, Frame &frame);
LogicalResult evaluate(EncoderLayerOp op, Frame &frame);
LogicalResult evaluate(DecoderLayerOp op, Frame &frame);

// Upstream ops that models and prepare functions use: Upstream.cpp.
LogicalResult evaluate(arith::ConstantOp op, Frame &frame);
/// On scalars and tensors of one shape.
LogicalResult evaluate(arith::AddFOp op, Frame &frame);
LogicalResult evaluate(arith::SubFOp op, Frame &frame);
LogicalResult evaluate(arith::MulFOp op, Frame &frame);
LogicalResult evaluate(arith::DivFOp op, Frame &frame);
LogicalResult evaluate(arith::MaximumFOp op, Frame &frame);
LogicalResult evaluate(arith::NegFOp op, Frame &frame);
LogicalResult evaluate(arith::AddIOp op, Frame &frame);
LogicalResult evaluate(arith::SubIOp op, Frame &frame);
LogicalResult evaluate(arith::MulIOp op, Frame &frame);
LogicalResult evaluate(arith::MinUIOp op, Frame &frame);
LogicalResult evaluate(tensor::DimOp op, Frame &frame);
LogicalResult evaluate(tensor::SplatOp op, Frame &frame);
/// Of an integer.
LogicalResult evaluate(tensor::ExtractOp op, Frame &frame);
LogicalResult evaluate(tensor::EmptyOp op, Frame &frame);
LogicalResult evaluate(tensor::CastOp op, Frame &frame);
LogicalResult evaluate(tensor::ConcatOp op, Frame &frame);
LogicalResult evaluate(tensor::ExtractSliceOp op, Frame &frame);
LogicalResult evaluate(tensor::InsertSliceOp op, Frame &frame);
LogicalResult evaluate(linalg::TransposeOp op, Frame &frame);
LogicalResult evaluate(linalg::CopyOp op, Frame &frame);
LogicalResult evaluate(scf::ForOp op, Frame &frame);
LogicalResult evaluate(tensor::ExpandShapeOp op, Frame &frame);
LogicalResult evaluate(tensor::CollapseShapeOp op, Frame &frame);

} // namespace mlir::transformer::reference

#endif // DIALECT_REFERENCE_OPERATIONS_H
