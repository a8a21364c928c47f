//===- NarrowProducts.cpp - products of numbers that are computed ---------===//
#include "codegen/gpu/NarrowProducts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::transformer;

Value mlir::transformer::elementwise(ImplicitLocOpBuilder &b, Value out, ValueRange inputs,
                                     ArrayRef<AffineMap> inputMaps, Body body) {
  int64_t rank = cast<RankedTensorType>(out.getType()).getRank();
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(b.getMultiDimIdentityMap(static_cast<unsigned>(rank)));
  SmallVector<utils::IteratorType> loops(static_cast<size_t>(rank), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, out.getType(), inputs, out, maps, loops,
                                   [&](OpBuilder &inner, Location loc, ValueRange values) {
                                     Scalars scalars(loc, inner);
                                     Value y = body(scalars, values.drop_back());
                                     linalg::YieldOp::create(scalars, y);
                                   })
      .getResult(0);
}

Value mlir::transformer::elementwise(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                                     ValueRange sizes, Type element, ValueRange inputs,
                                     ArrayRef<AffineMap> inputMaps, Body body) {
  Value out = tensor::EmptyOp::create(b, shape, element, sizes);
  return elementwise(b, out, inputs, inputMaps, body);
}

Value mlir::transformer::emptyRows(ImplicitLocOpBuilder &b, FloatType type, int64_t width,
                                   OpFoldResult rows) {
  int64_t fromRowToRow = llvm::alignTo(width, halvesOfPiece);
  SmallVector<OpFoldResult> sizes = {rows, b.getIndexAttr(fromRowToRow)};
  Value out = tensor::EmptyOp::create(b, sizes, type);
  if (fromRowToRow == width)
    return out;
  SmallVector<OpFoldResult> zeros(2, b.getIndexAttr(0)), ones(2, b.getIndexAttr(1));
  sizes[1] = b.getIndexAttr(width);
  return tensor::ExtractSliceOp::create(b, out, zeros, sizes, ones);
}

Value mlir::transformer::rounded(ImplicitLocOpBuilder &b, Value rows, FloatType type) {
  OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), rows, 0);
  Value out = emptyRows(b, type, cast<RankedTensorType>(rows.getType()).getDimSize(1), count);
  return elementwise(b, out, rows, b.getMultiDimIdentityMap(2),
                     [&](Scalars &s, ValueRange v) { return s.toHalf(type, v[0]); });
}

bool mlir::transformer::isRounding(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return false;
  auto made = op.getBlock()->getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  return made && made.getIn() == op.getBlock()->getArgument(0) && kernel::isHalf(made.getType());
}

Value mlir::transformer::roundBefore(Operation *op, Value rows, FloatType type) {
  linalg::GenericOp later;
  for (Operation *user : rows.getUsers()) {
    auto rounding = dyn_cast<linalg::GenericOp>(user);
    if (!rounding || rounding->getBlock() != op->getBlock() || !isRounding(rounding) ||
        getElementTypeOrSelf(rounding.getResult(0)) != type)
      continue;
    if (rounding->isBeforeInBlock(op))
      return rounding.getResult(0);
    later = rounding;
  }
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value made = rounded(b, rows, type);
  if (later) {
    later.replaceAllUsesWith(ValueRange{made});
    later.erase();
  }
  return made;
}

Value mlir::transformer::largest(Scalars &b, Value from, Value end,
                                 function_ref<Value(Scalars &, Value)> at) {
  auto loop = scf::ForOp::create(b, from, end, b.index(1), b.real(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value more = at(b, loop.getInductionVar());
  scf::YieldOp::create(b,
                       arith::MaximumFOp::create(b, loop.getRegionIterArgs()[0], more).getResult());
  return loop.getResult(0);
}

Factor mlir::transformer::operandOf(linalg::MatmulOp product, unsigned i) {
  return {{product.getInputs()[i]},
          {product.getMatchingIndexingMap(product.getDpsInputOperand(i))},
          [](Scalars &b, ValueRange inputs) { return b.widen(inputs[0]); }};
}

void mlir::transformer::replaceProduct(linalg::MatmulOp product, const Factor &left,
                                       const Factor &right) {
  ImplicitLocOpBuilder b(product.getLoc(), product);
  SmallVector<Value> operands(left.operands);
  SmallVector<AffineMap> maps(left.maps);
  llvm::append_range(operands, right.operands);
  llvm::append_range(maps, right.maps);
  maps.push_back(product.getMatchingIndexingMap(product.getDpsInitOperand(0)));
  using enum utils::IteratorType;
  Value out = product.getOutputs()[0];
  auto sum = linalg::GenericOp::create(
      b, out.getType(), operands, out, maps, ArrayRef{parallel, parallel, reduction},
      [&](OpBuilder &inner, Location loc, ValueRange values) {
        Scalars scalars(loc, inner);
        ValueRange inputs = values.drop_back();
        size_t ofLeft = left.operands.size();
        Value x = left.number(scalars, inputs.take_front(ofLeft));
        Value term = scalars.mul(x, right.number(scalars, inputs.drop_front(ofLeft)));
        Value next = arith::AddFOp::create(scalars, values.back(), term);
        linalg::YieldOp::create(scalars, next);
      });
  product.replaceAllUsesWith(sum.getResults());
  product.erase();
}
