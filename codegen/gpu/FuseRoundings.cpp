//===- FuseRoundings.cpp - kernels write what others would make -----------===//
#include "codegen/gpu/NarrowProducts.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/Target.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FUSEROUNDINGS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether a kernel can write a result in 16 bits, in place of f32 or beside it.
struct Abilities {
  bool instead, beside;
};

/// Attention's backward can on tensor cores alone.
Abilities abilitiesOf(OpResult result, const GpuTarget *target) {
  bool isFirst = result.getResultNumber() == 0;
  return llvm::TypeSwitch<Operation *, Abilities>(result.getOwner())
      .Case([&](kernel::LayerNormOp) { return Abilities{isFirst, isFirst}; })
      .Case([&](kernel::DropoutOp) { return Abilities{true, true}; })
      .Case([&](kernel::RotaryEmbeddingOp) { return Abilities{true, false}; })
      .Case([&](kernel::CrossEntropyGradientOp) { return Abilities{isFirst, false}; })
      .Case([&](kernel::AttentionGradientOp op) {
        bool multipliesHalf = target && kernel::isHalf(getElementTypeOrSelf(op.getQ()));
        return Abilities{multipliesHalf && result.getResultNumber() < 3, false};
      })
      .Default(Abilities{false, false});
}

bool isOnlyReader(Operation *op, Value rows) {
  return llvm::all_of(rows.getUsers(),
                      [&](Operation *user) { return user == op || isa<tensor::DimOp>(user); });
}

FloatType typeOf(linalg::GenericOp rounding) {
  return cast<FloatType>(getElementTypeOrSelf(rounding.getResult(0)));
}

/// Memory for a result in 16 bits.
Value narrowOut(ImplicitLocOpBuilder &b, OpResult rows, FloatType type) {
  Value out = cast<DestinationStyleOpInterface>(rows.getOwner()).getTiedOpOperand(rows)->get();
  OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), out, 0);
  return emptyRows(b, type, cast<RankedTensorType>(rows.getType()).getDimSize(1), count);
}

/// `rows` become `type`.
void writeNarrow(OpResult rows, FloatType type) {
  ImplicitLocOpBuilder b(rows.getLoc(), rows.getOwner());
  kernel::setOut(rows, narrowOut(b, rows, type));
}

/// Results of kernels, side by side in a tensor, that nobody else reads.
void fuseInsertions(linalg::GenericOp rounding, const GpuTarget *target) {
  SmallVector<tensor::InsertSliceOp> inserts;
  Value whole = rounding.getInputs()[0];
  Operation *reader = rounding;
  while (auto insert = whole.getDefiningOp<tensor::InsertSliceOp>()) {
    auto part = dyn_cast<OpResult>(insert.getSource());
    if (!isOnlyReader(reader, whole) || !part || !isOnlyReader(insert, part) ||
        !isa<DestinationStyleOpInterface>(part.getOwner()) || !abilitiesOf(part, target).instead)
      return;
    inserts.push_back(insert);
    reader = insert;
    whole = insert.getDest();
  }
  auto empty = whole.getDefiningOp<tensor::EmptyOp>();
  if (inserts.empty() || !empty)
    return;
  FloatType type = typeOf(rounding);
  OpBuilder b(inserts.back());
  whole = tensor::EmptyOp::create(b, empty.getLoc(), empty.getMixedSizes(), type);
  for (tensor::InsertSliceOp insert : llvm::reverse(inserts)) {
    writeNarrow(cast<OpResult>(insert.getSource()), type);
    b.setInsertionPoint(insert);
    whole = tensor::InsertSliceOp::create(b, insert.getLoc(), insert.getSource(), whole,
                                          insert.getMixedOffsets(), insert.getMixedSizes(),
                                          insert.getMixedStrides());
    for (Operation *user : llvm::make_early_inc_range(insert->getUsers()))
      if (auto dim = dyn_cast<tensor::DimOp>(user))
        dim.getSourceMutable().assign(whole);
  }
  rounding.replaceAllUsesWith(ValueRange{whole});
  rounding.erase();
  for (tensor::InsertSliceOp insert : inserts)
    insert.erase();
}

void fuse(linalg::GenericOp rounding, const GpuTarget *target) {
  auto rows = dyn_cast<OpResult>(rounding.getInputs()[0]);
  if (!rows || cast<RankedTensorType>(rows.getType()).getRank() != 2)
    return;
  if (isa<tensor::InsertSliceOp>(rows.getOwner()))
    return fuseInsertions(rounding, target);
  auto kernelOp = dyn_cast<DestinationStyleOpInterface>(rows.getOwner());
  if (!kernelOp)
    return;
  Abilities can = abilitiesOf(rows, target);
  Value rounded = rows;
  if (isOnlyReader(rounding, rows) && can.instead) {
    writeNarrow(rows, typeOf(rounding));
  } else if (!isOnlyReader(rounding, rows) && can.beside) {
    ImplicitLocOpBuilder b(kernelOp.getLoc(), kernelOp);
    rounded = kernel::withOut(kernelOp, narrowOut(b, rows, typeOf(rounding)))->getResults().back();
  } else {
    return;
  }
  rounding.replaceAllUsesWith(ValueRange{rounded});
  rounding.erase();
}

struct FuseRoundingsPass : mlir::transformer::impl::FuseRoundingsBase<FuseRoundingsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> roundings;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (isRounding(op))
        roundings.push_back(op);
    });
    for (linalg::GenericOp rounding : roundings)
      fuse(rounding, gpuTargetOf(getOperation()));
  }
};

} // namespace
