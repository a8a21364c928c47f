//===- FuseRoundings.cpp - kernels write what is rounded ------------------===//
#include "codegen/gpu/NarrowProducts.h"
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
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

Abilities abilitiesOf(OpResult result) {
  bool isFirst = result.getResultNumber() == 0;
  return llvm::TypeSwitch<Operation *, Abilities>(result.getOwner())
      .Case([&](kernel::LayerNormOp) { return Abilities{isFirst, isFirst}; })
      .Case([&](kernel::DropoutOp) { return Abilities{true, true}; })
      .Case([&](kernel::RotaryEmbeddingOp) { return Abilities{true, false}; })
      .Case([&](kernel::CrossEntropyGradientOp) { return Abilities{true, false}; })
      .Default(Abilities{false, false});
}

/// `op` with one more out. The new result is the last.
Operation *withOut(DestinationStyleOpInterface op, Value out) {
  op.getDpsInitsMutable().append(out);
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(out.getType());
  Operation *made = Operation::create(op.getLoc(), op->getName(), types, op->getOperands(),
                                      op->getDiscardableAttrDictionary(),
                                      op->getPropertiesStorage(), {}, 0);
  OpBuilder(op).insert(made);
  op->replaceAllUsesWith(made->getResults().drop_back());
  op->erase();
  return made;
}

void fuse(linalg::GenericOp rounding) {
  auto rows = dyn_cast<OpResult>(rounding.getInputs()[0]);
  if (!rows || cast<RankedTensorType>(rows.getType()).getRank() != 2)
    return;
  auto kernelOp = dyn_cast<DestinationStyleOpInterface>(rows.getOwner());
  if (!kernelOp)
    return;
  Abilities can = abilitiesOf(rows);
  bool isOnlyReader = llvm::all_of(rows.getUsers(), [&](Operation *user) {
    return user == rounding || isa<tensor::DimOp>(user);
  });
  if (!(isOnlyReader ? can.instead : can.beside))
    return;
  ImplicitLocOpBuilder b(kernelOp.getLoc(), kernelOp);
  OpOperand &out = *kernelOp.getTiedOpOperand(rows);
  auto type = cast<FloatType>(getElementTypeOrSelf(rounding.getResult(0)));
  OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), out.get(), 0);
  Value narrow = emptyRows(b, type, cast<RankedTensorType>(rows.getType()).getDimSize(1), count);
  Value rounded = rows;
  if (isOnlyReader) {
    out.set(narrow);
    rows.setType(cast<RankedTensorType>(narrow.getType()));
  } else {
    rounded = withOut(kernelOp, narrow)->getResults().back();
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
    llvm::for_each(roundings, fuse);
  }
};

} // namespace
