//===- Panels.h - rows of a head as panels --------------------------------===//
#ifndef CODEGEN_CPU_NESTS_PANELS_H
#define CODEGEN_CPU_NESTS_PANELS_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Rows `first .. last` of a buffer and in them `headDim` columns from `column` on.
struct PanelRows {
  Value buffer, first, last, column;
  int64_t headDim;
};

/// Transposes rows into `count` panels [panel][headDim][NR], which a tile reads
/// like a packed weight. Rows behind the last one repeat it: defined values.
void packPanels(Emit &b, const PanelRows &rows, Value panels, Value count);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_PANELS_H
