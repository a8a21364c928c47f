//===- UpstreamGradients.cpp - the backward of upstream's ops -------------===//
#include "dialect/DifferentiateInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::transformer;

using Gradients = MutableArrayRef<Value>;

namespace {

template <typename OpTy, auto build>
struct Backward : DifferentiateOpInterface::ExternalModel<Backward<OpTy, build>, OpTy> {
  LogicalResult buildGradients(Operation *op, ImplicitLocOpBuilder &b, ValueRange ofResults,
                               Gradients ofOperands) const {
    build(b, cast<OpTy>(op), ofResults[0], ofOperands);
    return success();
  }
};

void ofSum(ImplicitLocOpBuilder &, arith::AddFOp, Value dy, Gradients ofOperands) {
  ofOperands[0] = ofOperands[1] = dy;
}

void ofDifference(ImplicitLocOpBuilder &b, arith::SubFOp, Value dy, Gradients ofOperands) {
  ofOperands[0] = dy, ofOperands[1] = arith::NegFOp::create(b, dy);
}

void ofProduct(ImplicitLocOpBuilder &b, arith::MulFOp op, Value dy, Gradients ofOperands) {
  ofOperands[0] = arith::MulFOp::create(b, dy, op.getRhs());
  ofOperands[1] = arith::MulFOp::create(b, dy, op.getLhs());
}

void ofCast(ImplicitLocOpBuilder &b, tensor::CastOp op, Value dy, Gradients ofOperands) {
  ofOperands[0] = tensor::CastOp::create(b, op.getSource().getType(), dy);
}

void ofCollapse(ImplicitLocOpBuilder &b, tensor::CollapseShapeOp op, Value dy,
                Gradients ofOperands) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), op.getSrc());
  ofOperands[0] =
      tensor::ExpandShapeOp::create(b, op.getSrcType(), dy, op.getReassociationIndices(), sizes);
}

void ofExpand(ImplicitLocOpBuilder &b, tensor::ExpandShapeOp op, Value dy, Gradients ofOperands) {
  ofOperands[0] =
      tensor::CollapseShapeOp::create(b, op.getSrcType(), dy, op.getReassociationIndices());
}

/// In its place among zeros.
void ofSlice(ImplicitLocOpBuilder &b, tensor::ExtractSliceOp op, Value dy, Gradients ofOperands) {
  ofOperands[0] =
      tensor::InsertSliceOp::create(b, dy, zerosLike(b, op.getSource()), op.getMixedOffsets(),
                                    op.getMixedSizes(), op.getMixedStrides());
}

void ofConcat(ImplicitLocOpBuilder &b, tensor::ConcatOp op, Value dy, Gradients ofOperands) {
  int64_t rank = op.getResultType().getRank(), dim = op.getDim();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1));
  int64_t first = 0;
  for (auto [input, gradient] : llvm::zip_equal(op.getInputs(), ofOperands)) {
    auto type = cast<RankedTensorType>(input.getType());
    offsets[dim] = b.getIndexAttr(first);
    gradient = tensor::ExtractSliceOp::create(b, type, dy, offsets,
                                              tensor::getMixedSizes(b, b.getLoc(), input), strides);
    first += type.getDimSize(dim); // of parameters: static
  }
}

void ofTranspose(ImplicitLocOpBuilder &b, linalg::TransposeOp op, Value dy, Gradients ofOperands) {
  auto inverse = invertPermutationVector(op.getPermutation());
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Value empty = tensor::EmptyOp::create(b, tensor::getMixedSizes(b, b.getLoc(), op.getInput()),
                                        type.getElementType());
  ofOperands[0] = linalg::TransposeOp::create(b, dy, empty, inverse)->getResult(0);
}

} // namespace

void mlir::transformer::registerDifferentiation(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::AddFOp::attachInterface<Backward<arith::AddFOp, ofSum>>(*context);
    arith::SubFOp::attachInterface<Backward<arith::SubFOp, ofDifference>>(*context);
    arith::MulFOp::attachInterface<Backward<arith::MulFOp, ofProduct>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    using namespace tensor;
    CastOp::attachInterface<Backward<CastOp, ofCast>>(*context);
    CollapseShapeOp::attachInterface<Backward<CollapseShapeOp, ofCollapse>>(*context);
    ExpandShapeOp::attachInterface<Backward<ExpandShapeOp, ofExpand>>(*context);
    ExtractSliceOp::attachInterface<Backward<ExtractSliceOp, ofSlice>>(*context);
    ConcatOp::attachInterface<Backward<ConcatOp, ofConcat>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::TransposeOp::attachInterface<Backward<linalg::TransposeOp, ofTranspose>>(*context);
  });
}
