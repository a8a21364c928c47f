//===- Gradients.cpp - the backward of each op ----------------------------===//
#include "dialect/DifferentiateInterface.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::transformer;

#include "dialect/DifferentiateInterface.cpp.inc"

using Gradients = MutableArrayRef<Value>;

Value mlir::transformer::zerosLike(ImplicitLocOpBuilder &b, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(b, tensor, dim));
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return tensor::SplatOp::create(b, zero, type, sizes);
}

/// dx = dy W is the same layer on the weight read the other way round.
LogicalResult LinearOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                       Gradients ofOperands) {
  Value dy = ofResults[0];
  bool outIn = getLayout() == WeightLayout::OutIn;
  WeightLayout other = outIn ? WeightLayout::InOut : WeightLayout::OutIn;
  ofOperands[0] = LinearOp::create(b, getX().getType(), dy, getWeight(), Value(), other);
  ofOperands[1] = LinearWeightGradientOp::create(b, getWeight().getType(), getX(), dy,
                                                 /*onto=*/Value(), getLayout());
  if (getBias())
    ofOperands[2] = SumRowsOp::create(b, getBias().getType(), dy);
  return success();
}

LogicalResult SplitOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                      Gradients ofOperands) {
  SmallVector<Value> parts;
  for (auto [result, gradient] : llvm::zip_equal(getResults(), ofResults))
    parts.push_back(gradient ? gradient : zerosLike(b, result));
  Value columns = tensor::ConcatOp::create(b, /*dim=*/1, parts);
  ofOperands[0] = b.createOrFold<tensor::CastOp>(getX().getType(), columns);
  return success();
}

LogicalResult LayerNormOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                          Gradients ofOperands) {
  auto op =
      LayerNormGradientOp::create(b, getX().getType(), getGamma().getType(), getBeta().getType(),
                                  getX(), getGamma(), ofResults[0], /*onto=*/Value(), getNorm());
  ofOperands[0] = op.getDx(), ofOperands[1] = op.getDgamma(), ofOperands[2] = op.getDbeta();
  return success();
}

LogicalResult RmsNormOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                        Gradients ofOperands) {
  auto op = RmsNormGradientOp::create(b, getX().getType(), getGamma().getType(), getX(), getGamma(),
                                      ofResults[0], /*onto=*/Value(), getNorm(), getNumHeads());
  ofOperands[0] = op.getDx(), ofOperands[1] = op.getDgamma();
  return success();
}

LogicalResult ActivationOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                           Gradients ofOperands) {
  ofOperands[0] =
      ActivationGradientOp::create(b, getX().getType(), getKind(), getX(), ofResults[0]);
  return success();
}

/// What was dropped has no gradient.
LogicalResult DropoutOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                        Gradients ofOperands) {
  ofOperands[0] = DropoutOp::create(b, getX().getType(), ofResults[0], getKey(), getRateAttr());
  return success();
}

LogicalResult EmbeddingOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                          Gradients ofOperands) {
  ofOperands[1] = EmbeddingGradientOp::create(b, getTable().getType(), /*squares=*/Type(), getIds(),
                                              ofResults[0], /*onto=*/Value(), getScaleAttr(),
                                              getPaddingIndexAttr())
                      .getDtable();
  return success();
}

LogicalResult RotaryEmbeddingOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                                Gradients ofOperands) {
  ofOperands[0] = RotaryEmbeddingGradientOp::create(b, getX().getType(), ofResults[0], getTable(),
                                                    getNumHeads());
  return success();
}

/// `op`, or in its place one that also gives what its backward needs.
static AttentionOp withLogSumExp(ImplicitLocOpBuilder &b, AttentionOp op) {
  if (op.getLogSumExp())
    return op;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(op.getType(0));
  auto sums = type.clone({type.getDimSize(0), static_cast<int64_t>(op.getNumHeads())});
  OperationState state(op.getLoc(), AttentionOp::getOperationName(), op->getOperands(),
                       {type, sums}, op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  auto both = cast<AttentionOp>(b.create(state));
  op.getResult().replaceAllUsesWith(both.getResult());
  return both;
}

LogicalResult AttentionOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                          Gradients ofOperands) {
  if (!ofResults[0] || (getLogSumExp() && ofResults[1]))
    return emitOpError() << "has no backward of its log_sum_exp";
  AttentionOp op = withLogSumExp(b, *this);
  auto typeOf = [](Value value) { return value ? value.getType() : Type(); };
  Value bias = op.getPositionBias(), ofQueries = op.getQueryScores(), ofKeys = op.getKeyScores();
  auto gradient = AttentionGradientOp::create(
      b, typeOf(op.getQ()), typeOf(op.getK()), typeOf(op.getV()), typeOf(bias), typeOf(ofQueries),
      typeOf(ofKeys), op.getQ(), op.getK(), op.getV(), op.getResult(), op.getLogSumExp(),
      ofResults[0], op.getQuerySequences(), op.getKeySequences(), op.getScaleFactor(), bias,
      ofQueries, ofKeys, op.getDropoutKey(), op.getNumHeadsAttr(), op.getNumKvHeadsAttr(),
      op.getScaleAttr(), op.getOptionsAttr(), op.getColumnsAttr());
  auto set = [&](unsigned argument, Value value) { // of the op's definition
    if (auto [first, count] = op.getODSOperandIndexAndLength(argument); count)
      ofOperands[first] = value;
  };
  set(0, gradient.getDq()), set(1, gradient.getDk()), set(2, gradient.getDv());
  set(6, gradient.getDpositionBias());
  set(7, gradient.getDqueryScores()), set(8, gradient.getDkeyScores());
  return success();
}

LogicalResult RelativeScoresOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                               Gradients ofOperands) {
  auto op = RelativeScoresGradientOp::create(b, getX().getType(), getTable().getType(), getX(),
                                             getTable(), ofResults[0], getNumHeads());
  ofOperands[0] = op.getDx(), ofOperands[1] = op.getDtable();
  return success();
}

LogicalResult WindowsOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                        Gradients ofOperands) {
  ofOperands[0] = WindowsGradientOp::create(b, getX().getType(), ofResults[0], getResultSequences(),
                                            getSequences(), getStride(), getPadding());
  return success();
}

LogicalResult FirstTokenOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                           Gradients ofOperands) {
  ofOperands[0] =
      TokenGradientOp::create(b, getX().getType(), ofResults[0], getSequences(), /*last=*/false);
  return success();
}

LogicalResult LastTokenOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                          Gradients ofOperands) {
  ofOperands[0] =
      TokenGradientOp::create(b, getX().getType(), ofResults[0], getSequences(), /*last=*/true);
  return success();
}

LogicalResult ElementLossOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                            Gradients ofOperands) {
  ofOperands[0] = ElementLossGradientOp::create(b, getX().getType(), getKind(), getX(), getLabels(),
                                                ofResults[0]);
  return success();
}

LogicalResult CrossEntropyOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                             Gradients ofOperands) {
  ofOperands[0] = CrossEntropyGradientOp::create(b, getLogits().getType(), getLogits(), getLabels(),
                                                 ofResults[0], getIgnoreIndexAttr(),
                                                 getPaddingIndexAttr(), getLabelSmoothingAttr());
  return success();
}

LogicalResult SpanLossOp::buildGradients(ImplicitLocOpBuilder &b, ValueRange ofResults,
                                         Gradients ofOperands) {
  ofOperands[0] = SpanLossGradientOp::create(b, getLogits().getType(), getLogits(), getSequences(),
                                             getPositions(), ofResults[0], getColumnAttr());
  return success();
}
