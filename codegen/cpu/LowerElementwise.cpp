//===- LowerElementwise.cpp - what is left of linalg to loops -------------===//
#include "codegen/cpu/ElementwiseVectors.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/nests/Emit.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_LOWERELEMENTWISE
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// How many elements of an operand belong to a row: an index of the first dimension.
int64_t elementsOfRow(linalg::LinalgOp op, OpOperand &operand, MemRefType type) {
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : size;
  bool hasRows = op.getMatchingIndexingMap(&operand).isFunctionOfDim(0);
  return hasRows && !type.isDynamicDim(0) ? elements / type.getDimSize(0) : elements;
}

/// Of the widest operand.
int64_t widthOf(linalg::LinalgOp op) {
  int64_t width = 1;
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = dyn_cast<MemRefType>(operand.get().getType()))
      width = std::max(width, elementsOfRow(op, operand, type));
  return width;
}

/// The amount is the number of rows.
DictionaryAttr elementwiseWork(linalg::LinalgOp op) {
  Work work{op->getName().stripDialect().str(), "", {{"rows"}}};
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    work.label = "elementwise " + generic.getBody()->front().getName().stripDialect().str();
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || !type.getElementType().isIntOrFloat())
      continue;
    int64_t bytes = type.getElementTypeBitWidth() / 8 * elementsOfRow(op, operand, type);
    bool hasRows = op.getMatchingIndexingMap(&operand).isFunctionOfDim(0);
    (hasRows ? work.amounts[0].bytes : work.fixedBytes) += bytes;
  }
  work.sizes = "width=" + std::to_string(widthOf(op));
  return workAttr(op.getContext(), work);
}

struct LowerElementwisePass : mlir::transformer::impl::LowerElementwiseBase<LowerElementwisePass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    cpu::TargetAttr target = cpu::TargetAttr::of(function);
    if (!target)
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    function.walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp copy : copies) {
      if (isCopyToItself(copy)) {
        rewriter.eraseOp(copy);
        continue;
      }
      rewriter.setInsertionPoint(copy);
      rewriter.replaceOpWithNewOp<linalg::CopyOp>(copy, copy.getSource(), copy.getTarget());
    }
    for (linalg::LinalgOp op : linalgOps(function))
      if (!op->getParentOfType<scf::ForallOp>() && op.getNumLoops() > 0 &&
          linalg::isParallelIterator(op.getIteratorTypesArray().front()) &&
          failed(parallelize(rewriter, op, target.getTaskRows())))
        return signalPassFailure();
    for (linalg::LinalgOp op : linalgOps(function)) {
      if (isPart(op, LinearPart::Beside))
        continue; // a pass behind this one divides it between a product's tiles
      rewriter.setInsertionPoint(op);
      Emit b(op, target);
      if (!emitVectors(b, op) && failed(linalg::linalgOpToLoops(rewriter, op))) {
        op->emitOpError("is left after lowering to loops");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }

private:
  static SmallVector<linalg::LinalgOp> linalgOps(func::FuncOp function) {
    SmallVector<linalg::LinalgOp> ops;
    function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    return ops;
  }

  static LogicalResult parallelize(IRRewriter &rewriter, linalg::LinalgOp op, int64_t taskRows) {
    rewriter.setInsertionPoint(op);
    scf::SCFTilingOptions options;
    SmallVector<OpFoldResult> sizes(op.getNumLoops(), rewriter.getIndexAttr(0));
    int64_t items = Emit::itemsPerTask(widthOf(op)); // 1 of what is as wide as logits are
    bool isRow = op.getNumLoops() == 1;
    sizes.front() = rewriter.getIndexAttr(items == 1 || isRow ? items : taskRows);
    options.setTileSizes(sizes);
    options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    auto tiled = scf::tileUsingSCF(rewriter, cast<TilingInterface>(op.getOperation()), options);
    if (failed(tiled))
      return op->emitOpError("could not be divided into tasks");
    if (!tiled->loops.empty()) {
      auto loop = cast<scf::ForallOp>(tiled->loops.front());
      rewriter.setInsertionPoint(loop);
      Value rows =
          getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), loop.getMixedUpperBound().front());
      setWork(rewriter, loop, elementwiseWork(op), rows);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace
