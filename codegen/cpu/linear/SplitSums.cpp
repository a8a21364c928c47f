//===- SplitSums.cpp - long sums in parts ---------------------------------===//
//
// The gradient of a head's rows sums as many products as there are words. Panels of so many weights
// stay in no cache, so they would be packed before, through memory. In parts, tasks pack them
// (PackInTasks.cpp), and what rows become for the product is no longer than a part.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/SplitSums.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether `weight` is what some call of the program gets, an input or state, and not a parameter,
/// whose panels are made when it is loaded.
bool isOfCalls(Value weight) {
  auto argument = dyn_cast<BlockArgument>(weight);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return false;
  bool isCalled = false, isGiven = false;
  auto uses = SymbolTable::getSymbolUses(function, function->getParentOp());
  for (SymbolTable::SymbolUse use : *uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser())) {
      isCalled = true;
      isGiven |= isOfCalls(call.getOperand(argument.getArgNumber()));
    }
  return !isCalled || isGiven;
}

/// Columns, or rows, of what a product reads; what rounds each number alone rounds the part.
Value sliceOf(ImplicitLocOpBuilder &b, Value value, unsigned dim, OpFoldResult first,
              int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  if (Operation *rounded = value.getDefiningOp<QuantizeWeightOp>();
      rounded || (rounded = value.getDefiningOp<QuantizeRowsOp>())) {
    IRMapping map;
    Value source = rounded->getOperand(0);
    map.map(source, sliceOf(b, source, dim, first, size));
    Operation *part = b.clone(*rounded, map);
    part->getResult(0).setType(type.clone(shape));
    return part->getResult(0);
  }
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0)), strides(2, b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  offsets[dim] = first;
  sizes[dim] = b.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(b, type.clone(shape), value, offsets, sizes, strides);
}

/// Rounds each number by itself, or not at all.
bool isOfNumbers(const LinearOperands &operands) {
  return !operands.format || *operands.format == WeightFormat::Bf16;
}

} // namespace

SmallVector<linalg::MatmulOp> transformer::splitSum(IRRewriter &rewriter, linalg::MatmulOp product,
                                                    const LinearOperands &operands,
                                                    const LinearFormat &format,
                                                    cpu::TargetAttr target) {
  int64_t k = operands.inputs(), step = format.products() * format.sumSteps();
  int64_t bytes = format.columnBytes(step) * format.tileColumns(target); // of a step's panel
  int64_t most = mostPanelBytes(target) / bytes * step;
  if (k <= most || most == 0 || !isOfNumbers(operands) || operands.squares ||
      !isOfCalls(operands.weight))
    return {product};
  int64_t size = llvm::alignTo(llvm::divideCeil(k, llvm::divideCeil(k, most)), step);
  ImplicitLocOpBuilder b(product.getLoc(), rewriter);
  b.setInsertionPoint(product);
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  Value zeros = product.getOutputs()[0], rows = tensor::DimOp::create(b, product.getInputs()[0], 0);
  SmallVector<linalg::MatmulOp> made;
  auto emitPart = [&](OpFoldResult first, int64_t inputs) {
    Value x = sliceOf(b, product.getInputs()[0], 1, first, inputs);
    unsigned inputDim = operands.layout == WeightLayout::OutIn ? 1 : 0;
    Value weight = sliceOf(b, product.getInputs()[1], inputDim, first, inputs);
    made.push_back(cast<linalg::MatmulOp>(
        mlir::clone(b, product, product->getResultTypes(), {x, weight, zeros})));
    return made.back()->getResult(0);
  };
  Value begun = emitPart(b.getIndexAttr(0), size);
  int64_t last = (k - 1) / size * size; // where the last part begins, which may be shorter
  auto add = [&](Value sum, Value part) -> Value {
    Value empty = tensor::EmptyOp::create(b, type, type.isDynamicDim(0) ? rows : ValueRange());
    SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(2));
    SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
    Value next = linalg::GenericOp::create(b, type, ValueRange{sum, part}, empty, maps, loops,
                                           [](OpBuilder &nested, Location loc, ValueRange v) {
                                             Value both =
                                                 arith::AddFOp::create(nested, loc, v[0], v[1]);
                                             linalg::YieldOp::create(nested, loc, both);
                                           })
                     .getResult(0);
    return linalg::CopyOp::create(b, next, sum).getResult(0);
  };
  if (size < last) {
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    auto loop = scf::ForOp::create(b, index(size), index(last), index(size), begun);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value sum = loop.getRegionIterArg(0);
    scf::YieldOp::create(b, add(sum, emitPart(loop.getInductionVar(), size)));
    begun = loop.getResult(0);
  }
  b.setInsertionPoint(product);
  rewriter.replaceOp(product, add(begun, emitPart(b.getIndexAttr(last), k - last)));
  return made;
}
