//===- PackInTasks.cpp - panels made by the task that reads them ----------===//
//
// In a step of training weights are packed anew in each call. A task that packs its own panels
// has them in its caches, and only the weight passes through memory, fetched while the panels
// before are multiplied (PrefetchPanels.cpp), or where the target says so by packing itself.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::transformer;

bool transformer::canPackInTasks(Operation *op) {
  auto pack = dyn_cast_or_null<cpu::PackWeightOp>(op);
  // Scales of integers are in panels, too.
  return pack ? !pack.getScales() || getElementTypeOrSelf(pack.getOuts()[0]).isF32()
              : isa_and_nonnull<cpu::SplitPanelsOp>(op);
}

/// `op` for the panels from `first` on.
static Value packFrom(ImplicitLocOpBuilder &b, Operation *op, Value first, Value empty,
                      bool ahead) {
  Type type = empty.getType();
  if (auto split = dyn_cast<cpu::SplitPanelsOp>(op))
    return cpu::SplitPanelsOp::create(b, TypeRange{type}, split.getPanels(), first, Value(),
                                      ValueRange{empty}, ahead,
                                      /*inside=*/false)
        .getResult(0);
  auto pack = cast<cpu::PackWeightOp>(op);
  return cpu::PackWeightOp::create(b, TypeRange{type}, pack.getWeights(), pack.getScales(), first,
                                   ValueRange{empty}, pack.getLayout(), ahead)
      .getResult(0);
}

void transformer::moveIntoTasks(RewriterBase &rewriter, Operation *pack, scf::ForallOp tasks,
                                int64_t panels, bool ahead) {
  auto all = cast<RankedTensorType>(pack->getResult(0).getType());
  SmallVector<int64_t> shape(all.getShape());
  shape[0] = panels;
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : pack->getUsers())
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user))
      slices.push_back(slice);
  rewriter.setInsertionPointToStart(tasks.getBody());
  ImplicitLocOpBuilder b(pack->getLoc(), rewriter);
  Value empty = tensor::EmptyOp::create(b, shape, all.getElementType());
  Value own = packFrom(b, pack, tasks.getInductionVars().back(), empty, ahead);
  for (tensor::ExtractSliceOp slice : slices) {
    rewriter.setInsertionPoint(slice);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    offsets[0] = rewriter.getIndexAttr(0);
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        slice, slice.getType(), own, offsets, slice.getMixedSizes(), slice.getMixedStrides());
  }
  if (pack->use_empty())
    rewriter.eraseOp(pack);
}
