//===- SplitSums.cpp - long sums in parts ---------------------------------===//
//
// The gradient of a head's rows sums as many products as there are words. Panels of so many weights
// stay in no cache, so they would be packed before, through memory. In parts, tasks pack them
// (PackInTasks.cpp), and what rows become for the product is no longer than a part. In matrix
// registers sums of parameters are in parts, too.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/SplitSums.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Columns, or rows, of what a product reads; what rounds each number alone rounds the part.
Value sliceOf(ImplicitLocOpBuilder &b, Value value, unsigned dim, OpFoldResult first,
              int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  if (auto merged = value.getDefiningOp<tensor::ConcatOp>(); merged && merged.getDim() != dim) {
    auto parts = llvm::map_to_vector(
        merged.getInputs(), [&](Value input) { return sliceOf(b, input, dim, first, size); });
    return tensor::ConcatOp::create(b, type.clone(shape), merged.getDim(), parts);
  }
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

/// How many parts k is summed in, each some of `step`.
int64_t partsOf(int64_t k, int64_t step, bool isOfCalls, const LinearFormat &format,
                cpu::TargetAttr target) {
  constexpr int64_t mostOfParameter = 8; // each is a loop of its own in the program
  int64_t bytes = format.columnBytes(step) * format.tileColumns(target); // of a step's panel
  int64_t most = mostPanelBytes(target) / bytes;
  // Matrix registers are so fast that rows, which pass once a task, must stay in that cache too.
  int64_t withRows = (format.usesMatrixRegisters() ? most / 3 : most) * step;
  if (withRows == 0)
    return 1;
  // Once in parts, bfloat16's are half as long: 0.92 to 0.97 of the time for a head of 50257 words
  // on a Zen 4 (a quarter: 0.93 to 0.97). Those of Winograd's inner product take 1.2 of it then.
  bool isOfWords = format.rowBytes(step) < 4 * step && !format.usesMatrixRegisters();
  if (isOfCalls)
    return llvm::divideCeil(k, k > withRows && isOfWords ? withRows / 2 : withRows);
  if (!format.usesMatrixRegisters()) // tasks go through panels in blocks
    return 1;
  // 1024 whole are faster than two halves, 3072 faster in four parts than in three.
  int64_t near = std::min((k + withRows / 2) / withRows, mostOfParameter);
  return std::max<int64_t>(near, llvm::divideCeil(k, most * step));
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
  bool isOfCalls = operands.isOfCalls();
  int64_t parts = partsOf(k, step, isOfCalls, format, target);
  bool isSliced = isOfCalls ? isa<BlockArgument>(operands.weight) : !operands.format;
  if (parts < 2 || !isOfNumbers(operands) || operands.squares || !isSliced)
    return {product};
  int64_t size = llvm::alignTo(llvm::divideCeil(k, parts), step);
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
  int64_t last = (k - 1) / size * size; // where the last part begins, which may be shorter
  auto empty = [&]() -> Value {
    return tensor::EmptyOp::create(b, type, type.isDynamicDim(0) ? rows : ValueRange());
  };
  auto add = [&](Value sum, Value part, Value into) -> Value {
    SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(2));
    SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
    auto body = [](OpBuilder &nested, Location loc, ValueRange v) {
      Value both = arith::AddFOp::create(nested, loc, v[0], v[1]);
      linalg::YieldOp::create(nested, loc, both);
    };
    return linalg::GenericOp::create(b, type, ValueRange{sum, part}, into, maps, loops, body)
        .getResult(0);
  };
  Value sum = emitPart(b.getIndexAttr(0), size);
  int64_t first = size, turn = 2 * size;
  if ((last - first) % turn) {
    sum = add(sum, emitPart(b.getIndexAttr(first), size), empty());
    first += size;
  }
  // Parts of parameters are packed when these are loaded: each is another tensor.
  for (; !isOfCalls && first < last; first += size)
    sum = add(sum, emitPart(b.getIndexAttr(first), size), empty());
  if (first < last) { // each sum is written where the one before the last was
    auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    auto loop =
        scf::ForOp::create(b, index(first), index(last), index(turn), ValueRange{sum, empty()});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value before = loop.getRegionIterArg(0), place = loop.getInductionVar();
    Value between = add(before, emitPart(place, size), loop.getRegionIterArg(1));
    place = arith::AddIOp::create(b, place, index(size));
    Value next = add(between, emitPart(place, size), before);
    scf::YieldOp::create(b, ValueRange{next, between});
    sum = loop.getResult(0);
  }
  b.setInsertionPoint(product);
  rewriter.replaceOp(product, add(sum, emitPart(b.getIndexAttr(last), k - last), empty()));
  return made;
}
