//===- NestWork.h - what the nests' loops do, for profiles ----------------===//
#ifndef CODEGEN_CPU_NESTS_NESTWORK_H
#define CODEGEN_CPU_NESTS_NESTWORK_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Bytes of a row of f32.
inline int64_t rowBytes(int64_t width) { return 4 * width; }

/// Work that reads and writes `rows` rows of `width` for each of an amount.
/// `parameter`, if given, names the layer.
Work rowWork(StringRef label, StringRef amount, int64_t width, int64_t rows, Value parameter = {});

/// Attention's sizes, as far as its cost goes.
struct AttentionSizes {
  int64_t heads, kvHeads, headDim;
  bool causal, cross;
  int64_t window;                 // 0: none
  Value queryOffsets, keyOffsets; // [batch + 1], index
};

/// Attention itself and its amounts: sequences, tokens, keys when they are
/// others, pairs of a query and a key that it may see.
std::pair<Work, Values> attentionWork(Emit &b, const AttentionSizes &sizes);

/// Attention to keys in pages.
struct PagedAttentionSizes {
  int64_t heads, headDim;
  Value queryOffsets, lengths; // [batch + 1], index; [batch], i64
};
std::pair<Work, Values> pagedAttentionWork(Emit &b, const PagedAttentionSizes &sizes);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_NESTWORK_H
