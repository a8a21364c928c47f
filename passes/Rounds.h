//===- Rounds.h - rewriting until nothing is left to rewrite ----*- C++ -*-===//
#ifndef PASSES_ROUNDS_H
#define PASSES_ROUNDS_H

#include "mlir/IR/Operation.h"

namespace mlir::transformer {

/// Calls `rewrite` for every OpTy below `root`, in order, until a whole round changes nothing:
/// what one rewrite moves or removes may be what another waited for. `rewrite` says whether it
/// changed anything; it may erase its op, but no other of its kind.
template <typename OpTy>
void rewriteInRounds(Operation *root, llvm::function_ref<bool(OpTy)> rewrite) {
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<OpTy> ops;
    root->walk([&](OpTy op) { ops.push_back(op); });
    for (OpTy op : ops)
      changed |= rewrite(op);
  }
}

} // namespace mlir::transformer

#endif // PASSES_ROUNDS_H
