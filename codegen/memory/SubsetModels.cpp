//===- SubsetModels.cpp - which slices of a tensor are the same ------------===//
#include "codegen/memory/SubsetModels.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SubsetOpInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace {

template <typename OpTy> FailureOr<HyperrectangularSlice> sliceOf(OpTy op) {
  if constexpr (OpTy::template hasTrait<OffsetSizeAndStrideOpInterface::Trait>()) {
    return HyperrectangularSlice(op);
  } else {
    // The dimensions that the vector has not are of size 1.
    if (op.getMask() || !op.getPermutationMap().isMinorIdentity())
      return failure();
    Builder b(op->getContext());
    SmallVector<OpFoldResult> offsets, sizes;
    for (Value index : op.getIndices())
      offsets.push_back(getAsOpFoldResult(index));
    sizes.assign(offsets.size(), b.getIndexAttr(1));
    for (auto [i, size] : llvm::enumerate(llvm::reverse(op.getVectorType().getShape())))
      sizes[sizes.size() - 1 - i] = b.getIndexAttr(size);
    return HyperrectangularSlice(offsets, sizes);
  }
}

template <typename OpTy>
struct SameValues : SubsetOpInterface::ExternalModel<SameValues<OpTy>, OpTy> {
  FailureOr<HyperrectangularSlice> getAccessedHyperrectangularSlice(Operation *op) const {
    return sliceOf(cast<OpTy>(op));
  }
  bool operatesOnEquivalentSubset(Operation *op, SubsetOpInterface candidate,
                                  function_ref<bool(Value, Value)> equivalent) const {
    auto own = cast<SubsetOpInterface>(op);
    if (!equivalent(own.getTensorContainer(), candidate.getTensorContainer()))
      return false;
    auto a = own.getAccessedHyperrectangularSlice(),
         b = candidate.getAccessedHyperrectangularSlice();
    return succeeded(a) && succeeded(b) && a->getMixedOffsets() == b->getMixedOffsets() &&
           a->getMixedSizes() == b->getMixedSizes() && a->getMixedStrides() == b->getMixedStrides();
  }
};

template <typename OpTy> void attach(MLIRContext *context) {
  OpTy::template attachInterface<SameValues<OpTy>>(*context);
}

} // namespace

void mlir::transformer::registerSubsetModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::ExtractSliceOp>(context);
    attach<tensor::InsertSliceOp>(context);
    attach<tensor::ParallelInsertSliceOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, vector::VectorDialect *) {
    attach<vector::TransferReadOp>(context);
    attach<vector::TransferWriteOp>(context);
  });
}
