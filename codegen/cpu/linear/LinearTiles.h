//===- LinearTiles.h - what the passes that tile linear layers share ------===//
#ifndef CODEGEN_CPU_LINEAR_LINEARTILES_H
#define CODEGEN_CPU_LINEAR_LINEARTILES_H

#include "codegen/cpu/linear/LinearMarks.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mlir::transformer {

/// The ops under `root` for which `is`.
SmallVector<linalg::GenericOp> collect(Operation *root, function_ref<bool(Operation *)> is);
/// Those that compute linear layers' contractions, and the epilogues.
SmallVector<linalg::GenericOp> contractions(Operation *root);
SmallVector<linalg::GenericOp> epilogues(Operation *root);

/// Steps of its sums.
int64_t stepsOf(linalg::GenericOp contraction);
/// The inputs of a contraction: as many times x as a step has products, then as
/// often the panels.
Value rowsOf(linalg::GenericOp contraction);
Value panelsOf(linalg::GenericOp contraction);

/// A panel of at most so many bytes, and the one fetched meanwhile, leave half of the second-level
/// cache to the rows.
inline int64_t mostPanelBytes(cpu::TargetAttr target) { return target.getL2Bytes() / 4; }

/// The loop over all k of the register tile whose sums `loop` carries.
inline scf::ForOp throughK(scf::ForOp loop) {
  auto parent = dyn_cast<scf::ForOp>(loop->getParentOp());
  return parent && isPart(parent, LinearPart::Blocks) ? parent : loop;
}

/// What bufferisation leaves of an insertion into what has been written in its place.
inline bool isCopyToItself(Operation *op) {
  auto copy = dyn_cast<memref::CopyOp>(op);
  return copy && copy.getSource() == copy.getTarget();
}

/// Whether `op` makes panels, and a part of them can be made by itself.
bool canPackInTasks(Operation *op);
/// Lets each task of `tasks`, which have `panels` panels, or fewer at the end, make its own;
/// `ahead`: as of these ops.
void moveIntoTasks(RewriterBase &rewriter, Operation *pack, scf::ForallOp tasks, int64_t panels,
                   bool ahead);

/// `patterns`, and what canonicalises loops, slices, arithmetic and vectors, no other dialect, and
/// leaves tasks. A pass makes it once: that takes as long as applying it to a function.
FrozenRewritePatternSet tilePatterns(RewritePatternSet patterns);

/// Applies patterns where control flow is regions.
LogicalResult rewriteTiles(func::FuncOp function, const FrozenRewritePatternSet &patterns);

/// Activations and their gradients are long code: one row and panel of a tile after the other,
/// from sums that are in memory then, instead of a copy for each. Rows of the result that are
/// a power of two apart are in the same few lines of the first-level cache: the sums are
/// elsewhere, side by side. So are those of matrix registers, which become `multiply_matrices`.
LogicalResult loopOverRows(func::FuncOp function, const FrozenRewritePatternSet &patterns);

/// The sums of a contraction over zeros, in a tensor of their own, by `multiply_matrices`.
FailureOr<Value> multiplyMatrices(RewriterBase &rewriter, linalg::GenericOp contraction);
/// Loops over the registers of their steps in the place of these ops.
void lowerMultiplyMatrices(RewriterBase &rewriter, ArrayRef<cpu::MultiplyMatricesOp> ops);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARTILES_H
