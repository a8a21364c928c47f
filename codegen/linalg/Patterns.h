//===- Patterns.h - the transformer dialect's ops as linalg -----*- C++ -*-===//
//
// One pattern an op, in files by topic. None knows a target.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_LINALG_PATTERNS_H
#define CODEGEN_LINALG_PATTERNS_H

#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::transformer {

/// The three values that a `!transformer.sequences` becomes.
struct SequenceValues {
  Value cu;     // tensor<?xindex>, batch + 1 offsets
  Value rows;   // tensor<?xindex>, the place of every packed row
  Value length; // index, of the padded rows

  explicit SequenceValues(ValueRange values) : cu(values[0]), rows(values[1]), length(values[2]) {}
  static SmallVector<Type> types(MLIRContext *context);
};

/// pack_tokens, uniform_sequences, token_columns, unpack_tokens, first_token, last_token.
void populateSequencePatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// embedding, with or without a norm; rotary_table, rotary_embedding.
void populateEmbeddingPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// patches, windows.
void populateWindowPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// linear, split.
void populateLinearPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// layer_norm and rms_norm, with or without a residual.
void populateNormPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// attention, relative_scores, append_pages, paged_attention.
void populateAttentionPatterns(const TypeConverter &converter, RewritePatternSet &patterns);

/// The backward of ops, labels and losses.
void populateGradientPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
/// sum_squares, clip_grad_norm, and updates.
void populateOptimizerPatterns(const TypeConverter &converter, RewritePatternSet &patterns);

/// Whether `op` puts rows side by side, of which nobody knows the number: weights are put together
/// at load, by other means.
bool isConcatOfRows(Operation *op);

/// A tensor.empty of the type of `result`, whose dynamic rows are as many as those of `like`.
Value emptyRows(OpBuilder &b, Location loc, Value result, Value like);

/// The columns of attention's relative scores as a tensor; none of none.
Value columnsOfDistances(OpBuilder &b, Location loc, std::optional<ArrayRef<int32_t>> columns);

} // namespace mlir::transformer

#endif // CODEGEN_LINALG_PATTERNS_H
