//===- WinogradNest.h - what Winograd's inner product is given ------------===//
#ifndef CODEGEN_CPU_NESTS_WINOGRADNEST_H
#define CODEGEN_CPU_NESTS_WINOGRADNEST_H

#include "codegen/cpu/nests/Emit.h"

namespace mlir::transformer {

/// Scales panel `at` of `panels` `[P, 6 S, NR]`, whose rows 6 .. 5 + K hold
/// weights, by `scales` `[K]` and its columns' sizes, and writes the rows before and
/// behind them (codegen/cpu/linear/Winograd.h).
void scaleWinogradPanel(Emit &b, Value panels, Value scales, Value at);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_NESTS_WINOGRADNEST_H
