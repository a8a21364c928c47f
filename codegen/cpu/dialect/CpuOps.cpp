//===- CpuOps.cpp - what the operands of a CPU's ops must be --------------===//
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/kernels/KernelVerify.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::cpu;
using namespace mlir::transformer::kernel;

LogicalResult PackWeightOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  auto panels = cast<ShapedType>(getOuts()[0].getType());
  SmallVector<int64_t> anyPanels = {kAny, kAny, kAny};
  if (getScales())
    anyPanels = {kAny, kAny, winograd::kStep, kAny};
  if (failed(verifyBuffer(*this, "panels", getOuts()[0], f32(*this), anyPanels)))
    return failure();
  if (!panels.hasStaticShape())
    return emitOpError() << "expected panels of static sizes, found " << panels;
  if (getWeights().empty())
    return emitOpError() << "expected at least one weight, found none";
  int64_t k = panels.getDimSize(1), columns = panels.getShape().back(), outputs = 0;
  unsigned outputDim = getLayout() == WeightLayout::OutIn ? 0 : 1;
  if (getScales()) {
    if (failed(verifyBuffer(*this, "weight 0", getWeights()[0], f32(*this), {kAny, kAny})))
      return failure();
    k = cast<ShapedType>(getWeights()[0].getType()).getDimSize(1 - outputDim);
    if (!ShapedType::isDynamic(k) && panels.getDimSize(1) != winograd::steps(k))
      return emitOpError() << "expected " << winograd::steps(k) << " steps for K = " << k
                           << ", found " << panels.getDimSize(1);
    if (failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {k})))
      return failure();
  }
  for (auto [i, weight] : llvm::enumerate(getWeights())) {
    SmallVector<int64_t> shape = {k, k};
    shape[outputDim] = kAny;
    if (failed(verifyBuffer(*this, "weight " + Twine(i), weight, f32(*this), shape)))
      return failure();
    auto type = cast<ShapedType>(weight.getType());
    if (!type.hasStaticShape())
      return emitOpError() << "expected weight " << i << " of static sizes, found " << type;
    if (outputs % columns)
      return emitOpError() << "expected whole panels of " << columns << " outputs before weight "
                           << i << ", found " << outputs << " outputs";
    outputs += type.getDimSize(outputDim);
  }
  int64_t expected = llvm::divideCeil(outputs, columns);
  if (panels.getDimSize(0) != expected)
    return emitOpError() << "expected " << expected << " panels for " << outputs
                         << " outputs, found " << panels.getDimSize(0);
  return success();
}

LogicalResult EstimatedOp::verify() {
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width))
    return failure();
  return verifyBuffer(*this, "squares", getSquares(), f32(*this), {*width});
}

LogicalResult SampleSquaresOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  if (getDim() > 1)
    return emitOpError() << "expected dim 0 or 1, found " << getDim();
  if (failed(verifyBuffer(*this, "a matrix", getMatrix(), f32(*this), {kAny, kAny})))
    return failure();
  auto type = cast<ShapedType>(getMatrix().getType());
  if (!type.hasStaticShape())
    return emitOpError() << "expected a matrix of static sizes, found " << type;
  if (getFactors() && failed(verifyBuffer(*this, "factors", getFactors(), f32(*this),
                                          {type.getDimSize(1 - getDim())})))
    return failure();
  return verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {type.getDimSize(getDim())});
}

LogicalResult WinogradScalesOp::verify() {
  if (failed(verifyKernel(*this, 1)))
    return failure();
  if (getWeights().empty())
    return emitOpError() << "expected at least one weight, found none";
  if (failed(verifyBuffer(*this, "an out", getOuts()[0], f32(*this), {kAny})))
    return failure();
  int64_t k = cast<ShapedType>(getOuts()[0].getType()).getDimSize(0);
  SmallVector<int64_t> shape = {k, k};
  shape[getLayout() == WeightLayout::OutIn ? 0 : 1] = kAny;
  for (auto [i, weight] : llvm::enumerate(getWeights())) {
    if (failed(verifyBuffer(*this, "weight " + Twine(i), weight, f32(*this), shape)))
      return failure();
    if (auto type = cast<ShapedType>(weight.getType()); !type.hasStaticShape())
      return emitOpError() << "expected weight " << i << " of static sizes, found " << type;
  }
  if (getSquares())
    return verifyBuffer(*this, "squares", getSquares(), f32(*this), {k});
  return success();
}

LogicalResult WinogradRowsOp::verify() {
  if (failed(verifyKernel(*this, 2)))
    return failure();
  FailureOr<int64_t> width = verifyRows(*this, "x", getX());
  if (failed(width) || failed(verifyBuffer(*this, "scales", getScales(), f32(*this), {*width})) ||
      failed(verifyRows(*this, "inverse scales", getOuts()[1])))
    return failure();
  return verifyBuffer(*this, "scaled rows", getOuts()[0], f32(*this),
                      {kAny, winograd::steps(*width), winograd::kStep});
}
