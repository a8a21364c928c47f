//===- FuseProducts.cpp - products with what is made of their numbers -----===//
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductOperands.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FUSEPRODUCTS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;
using simt::ProductOp;

namespace {

bool areTensors(OperandRange values) {
  return llvm::all_of(values, [](Value v) { return isa<RankedTensorType>(v.getType()); });
}

linalg::FillOp zerosOf(linalg::LinalgOp op) {
  auto fill = op.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) ? fill : linalg::FillOp();
}

/// Clones what a linalg op computes into `block`, whose first arguments are its loops' indices.
void cloneBody(OpBuilder &b, linalg::LinalgOp op, ValueRange loops, IRMapping &map,
               function_ref<bool(Operation &)> isLeftOut = {}) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), loops[index.getDim()]);
    else if (!isLeftOut || !isLeftOut(inner))
      b.clone(inner, map);
  }
}

/// A block of indices and then elements.
Block *addBlock(OpBuilder &b, Region &region, Location loc, unsigned loops, TypeRange more,
                ValueRange tensors) {
  SmallVector<Type> types(loops, b.getIndexType());
  llvm::append_range(types, more);
  for (Value tensor : tensors)
    types.push_back(getElementTypeOrSelf(tensor));
  return b.createBlock(&region, region.end(), types, SmallVector<Location>(types.size(), loc));
}

/// Replaces a matrix product of zeros; null: `op` is none, or continues another sum.
ProductOp replaceSum(linalg::LinalgOp op) {
  linalg::FillOp zeros = zerosOf(op);
  std::optional<simt::Product> product = simt::matchProduct(op);
  if (!zeros || !product || simt::readsOtherPlaces(op) || !areTensors(op->getOperands()))
    return {};
  OpBuilder b(op);
  // Its loops are row, column and depth.
  AffineMap places = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<unsigned> order = {places.getDimPosition(0), places.getDimPosition(1),
                                 product->depth};
  SmallVector<AffineExpr> dims(3);
  for (auto [i, loop] : llvm::enumerate(order))
    dims[loop] = b.getAffineDimExpr(i);
  SmallVector<AffineMap> maps;
  SmallVector<Value> factors;
  for (OpOperand *input : op.getDpsInputOperands()) {
    factors.push_back(input->get());
    maps.push_back(op.getMatchingIndexingMap(input).replaceDimsAndSymbols(dims, {}, 3, 0));
  }
  auto result = ProductOp::create(b, op.getLoc(), op->getResultTypes(), factors, ValueRange(),
                                  zeros.getOutputs(), b.getAffineMapArrayAttr(maps));
  Block *terms = addBlock(b, result.getTerms(), op.getLoc(), 3, {}, factors);
  IRMapping map;
  SmallVector<Value> loops(3);
  for (auto [i, loop] : llvm::enumerate(order))
    loops[loop] = terms->getArgument(i);
  map.map(op.getBlock()->getArguments().drop_back(), terms->getArguments().drop_front(3));
  arith::AddFOp addition = simt::additionOf(op);
  cloneBody(b, op, loops, map, [&](Operation &inner) {
    return &inner == addition || &inner == product->multiplication;
  });
  arith::MulFOp times = product->multiplication;
  simt::YieldOp::create(
      b, op.getLoc(),
      ValueRange{map.lookupOrDefault(times.getLhs()), map.lookupOrDefault(times.getRhs())});
  Block *whole = addBlock(b, result.getResult(), op.getLoc(), 2, b.getF32Type(), {});
  simt::YieldOp::create(b, op.getLoc(), whole->getArguments().back());
  // Sizes are those of the memory.
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (auto dim = dyn_cast<tensor::DimOp>(user))
      dim.getSourceMutable().assign(zeros.getOutputs()[0]);
  op->replaceAllUsesWith(result.getResults());
  op->erase();
  if (zeros->use_empty())
    zeros->erase();
  return result;
}

/// The elementwise op that may be taken in: it reads a result of `product` where that is written,
/// and makes one tensor of the same rows and columns.
linalg::GenericOp nextOf(ProductOp product) {
  for (Operation *user : product->getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (!op || op->getBlock() != product->getBlock() || op.getNumParallelLoops() != 2 ||
        op.getNumLoops() != 2 || op.getNumDpsInits() != 1 || op->getNumResults() != 1 ||
        simt::readsOtherPlaces(op) || !areTensors(op->getOperands()))
      continue;
    OpOperand *init = op.getDpsInitOperand(0);
    auto isSame = [&](OpOperand *operand) {
      return op.getMatchingIndexingMap(operand).isIdentity();
    };
    bool isRead = op.payloadUsesValueFromOperand(init);
    bool isInPlace = llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
      return operand->get().getDefiningOp() != product || isSame(operand);
    });
    if (!isRead && isInPlace && isSame(init) && init->get().getDefiningOp() != product)
      return op;
  }
  return {};
}

class Fusion {
public:
  Fusion(ProductOp product, linalg::GenericOp op) : product(product), op(op) {
    for (OpOperand *input : op.getDpsInputOperands())
      if (input->get().getDefiningOp() != product)
        added.push_back(input);
    auto isOurs = [&](Operation *user) { return user == op; };
    for (OpResult result : product->getResults())
      if (!llvm::all_of(result.getUsers(), isOurs))
        kept.push_back(result.getResultNumber());
  }

  /// Whether the product can be written where it stands or, if nothing else reads it, later.
  bool isPossible() {
    if (kept.empty())
      return true;
    constexpr size_t mostOuts = 2; // pointers and sizes take registers
    if (kept.size() >= mostOuts)
      return false;
    DominanceInfo dominance(op->getParentOp());
    auto isThere = [&](Value v) { return dominance.properlyDominates(v, product); };
    llvm::SetVector<Value> values;
    getUsedValuesDefinedAbove(op->getRegions(), values);
    for (OpOperand *input : added)
      values.insert(input->get());
    Value out = op.getOutputs()[0];
    if (auto empty = out.getDefiningOp<tensor::EmptyOp>()) // which can be moved
      values.insert(empty->operand_begin(), empty->operand_end());
    else
      values.insert(out);
    return llvm::all_of(values, isThere);
  }

  ProductOp fuse() {
    OpBuilder b(kept.empty() ? op.getOperation() : product.getOperation());
    auto empty = op.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
    if (empty && !kept.empty() &&
        !DominanceInfo(op->getParentOp()).properlyDominates(empty.getOperation(), product))
      empty->moveBefore(product);
    SmallVector<Value> others(product.getOthers()), outs;
    SmallVector<AffineMap> maps(product.getMaps().getAsValueRange<AffineMapAttr>());
    for (OpOperand *input : added) {
      others.push_back(input->get());
      maps.push_back(op.getMatchingIndexingMap(input));
    }
    for (unsigned i : kept)
      outs.push_back(product.getOuts()[i]);
    outs.push_back(op.getOutputs()[0]);
    auto fused =
        ProductOp::create(b, op.getLoc(), ValueRange(outs).getTypes(), product.getFactors(), others,
                          outs, b.getAffineMapArrayAttr(maps));
    fused.getTerms().takeBody(product.getTerms());
    fused.getResult().takeBody(product.getResult());
    extend(b, fused);
    op.getResult(0).replaceAllUsesWith(fused->getResults().back());
    op.erase();
    for (auto [i, result] : llvm::zip(kept, fused->getResults()))
      product->getResult(i).replaceAllUsesWith(result);
    product.erase();
    return fused;
  }

private:
  /// The op's arithmetic behind that of the product.
  void extend(OpBuilder &b, ProductOp fused) {
    Block &block = fused.getResult().front();
    auto yield = cast<simt::YieldOp>(block.getTerminator());
    IRMapping map;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (auto result = dyn_cast<OpResult>(input->get()); result && result.getOwner() == product)
        map.map(argument, yield.getOperand(result.getResultNumber()));
      else
        map.map(argument, block.addArgument(argument.getType(), op.getLoc()));
    }
    b.setInsertionPoint(yield);
    cloneBody(b, op, block.getArguments().take_front(2), map);
    SmallVector<Value> values;
    for (unsigned i : kept)
      values.push_back(yield.getValues()[i]);
    values.push_back(map.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0)));
    yield.getValuesMutable().assign(values);
  }

  ProductOp product;
  linalg::GenericOp op;
  SmallVector<OpOperand *> added;
  SmallVector<unsigned> kept; // results that others read, too
};

struct FuseProductsPass : mlir::transformer::impl::FuseProductsBase<FuseProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> sums;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureTensorSemantics() && simt::isSumOfTerms(op))
        sums.push_back(op);
    });
    SmallVector<ProductOp> products;
    for (linalg::LinalgOp sum : sums)
      if (ProductOp product = replaceSum(sum))
        products.push_back(product);
    for (ProductOp product : products)
      while (linalg::GenericOp next = nextOf(product)) {
        Fusion fusion(product, next);
        if (!fusion.isPossible())
          break;
        product = fusion.fuse();
      }
  }
};

} // namespace
