//===- Products.cpp - matrix products, by blocks or a thread a number ------===//
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/gpu/nests/ProductBlocks.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

bool transformer::simt::isSumOfTerms(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 1 && op.getNumDpsInits() == 1 && additionOf(op) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isProjectedPermutation();
}

namespace {

/// A thread a number.
void emitThreads(Loops &b, linalg::LinalgOp op, Finish finish) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  unsigned reduction = reductions.front();
  OpOperand *out = op.getDpsInitOperand(0);
  Value result = out->get();
  AffineMap places = op.getMatchingIndexingMap(out);
  Values sizes;
  for (unsigned d = 0; d < places.getNumResults(); ++d)
    sizes.push_back(b.dim(result, d));
  Value count;
  int64_t staticCount = ShapedType::kDynamic;
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto d = op.getMatchingIndexingMap(input).getResultPosition(b.getAffineDimExpr(reduction));
        d && !count) {
      staticCount = cast<MemRefType>(input->get().getType()).getDimSize(*d);
      count = b.dim(input->get(), *d);
    }
  arith::AddFOp addition = additionOf(op);
  Block *body = op.getBlock();
  b.threads(sizes, [&](ValueRange at) {
    Values dims(op.getNumLoops());
    for (auto [place, expression] : llvm::zip_equal(at, places.getResults()))
      dims[cast<AffineDimExpr>(expression).getPosition()] = place;
    auto term = [&](Value i) {
      dims[reduction] = i;
      IRMapping map;
      for (OpOperand *input : op.getDpsInputOperands()) {
        Values indices;
        for (AffineExpr each : op.getMatchingIndexingMap(input).getResults())
          indices.push_back(emitIndex(b, each, dims));
        map.map(op.getMatchingBlockArgument(input), b.load(input->get(), indices));
      }
      for (Operation &inner : body->without_terminator()) {
        if (auto index = dyn_cast<linalg::IndexOp>(inner))
          map.map(index.getResult(), dims[index.getDim()]);
        else if (&inner != addition)
          b.clone(inner, map);
      }
      Value sum = body->getArguments().back();
      return map.lookup(addition.getLhs() == sum ? addition.getRhs() : addition.getLhs());
    };
    Value sum = ShapedType::isDynamic(staticCount) ? b.sum(count, term) : b.sum(staticCount, term);
    finish(SumsAt{Values{sum}, Values(at), Value()});
  });
}

void write(Loops &b, ValueRange numbers, Value buffer, ValueRange at) {
  auto size = static_cast<int64_t>(numbers.size());
  if (size > 1 && alignedNumbers(buffer, size) == size)
    return storeVector(b, numbers, buffer, at);
  for (auto [e, number] : llvm::enumerate(numbers)) {
    Values place(at);
    place.back() = b.add(place.back(), static_cast<int64_t>(e));
    b.store(number, buffer, place);
  }
}

void emitSums(Loops &b, linalg::LinalgOp op, Finish finish) {
  if (b.target)
    if (std::optional<Product> product = matchProduct(op))
      return emitProductBlocks(b, *product, finish);
  emitThreads(b, op, finish);
}

/// The sums of a product as linalg's, for as long as they are emitted.
linalg::GenericOp sumsOf(Loops &b, ProductOp op) {
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < op.getFactors().size(); ++i)
    maps.push_back(op.factorMap(i));
  maps.push_back(b.getMultiDimIdentityMap(3).dropResult(2));
  using enum utils::IteratorType;
  auto sums = linalg::GenericOp::create(b, TypeRange(), op.getFactors(), op.getOuts()[0], maps,
                                        ArrayRef{parallel, parallel, reduction});
  OpBuilder::InsertionGuard guard(b);
  Block &terms = op.getTerms().front();
  SmallVector<Type> types(llvm::drop_begin(terms.getArgumentTypes(), 3));
  types.push_back(b.getF32Type());
  Block *body =
      b.createBlock(&sums.getRegion(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  IRMapping map;
  for (unsigned loop = 0; loop < 3; ++loop)
    map.map(terms.getArgument(loop), linalg::IndexOp::create(b, loop).getResult());
  map.map(terms.getArguments().drop_front(3), body->getArguments().drop_back());
  for (Operation &inner : terms.without_terminator())
    b.clone(inner, map);
  Operation *yield = terms.getTerminator();
  Value term =
      b.mulf(map.lookupOrDefault(yield->getOperand(0)), map.lookupOrDefault(yield->getOperand(1)));
  Value next = b.addf(body->getArguments().back(), term);
  linalg::YieldOp::create(b, next);
  return sums;
}

/// What is read of a place, nothing where it is outside of the result.
Values readIfThere(Loops &b, const SumsAt &place, Value buffer, AffineMap map) {
  auto count = static_cast<int64_t>(place.sums.size());
  if (!place.isThere)
    return loadNeighbours(b, buffer, map, place.at, count);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(element));
  return b.ifElse(
      place.isThere, [&] { return loadNeighbours(b, buffer, map, place.at, count); },
      [&] { return Values(count, none); });
}

void ifThere(Loops &b, const SumsAt &place, function_ref<void()> body) {
  place.isThere ? b.ifThen(place.isThere, body) : body();
}

} // namespace

/// Adds terms along the one loop that is not parallel to what is there.
void transformer::simt::emitKernel(Loops &b, linalg::LinalgOp op) {
  Value result = op.getDpsInitOperand(0)->get();
  emitSums(b, op, [&](ArrayRef<SumsAt> places) {
    SmallVector<Values> before;
    for (const SumsAt &place : places) {
      AffineMap all = b.getMultiDimIdentityMap(static_cast<unsigned>(place.at.size()));
      before.push_back(readIfThere(b, place, result, all));
    }
    for (auto [place, numbers] : llvm::zip_equal(places, before))
      ifThere(b, place, [&, &numbers = numbers, &place = place] {
        for (auto [number, sum] : llvm::zip_equal(numbers, place.sums))
          number = b.addf(number, sum);
        write(b, numbers, result, place.at);
      });
  });
}

void transformer::simt::emitKernel(Loops &b, ProductOp op) {
  linalg::GenericOp sums = sumsOf(b, op);
  auto writeResult = [&](const SumsAt &place, ArrayRef<Values> others) {
    Block &result = op.getResult().front();
    SmallVector<Values> written(op.getOuts().size());
    for (auto [e, number] : llvm::enumerate(place.sums)) {
      Values arguments = {place.at[0], b.add(place.at[1], static_cast<int64_t>(e)), number};
      for (const Values &other : others)
        arguments.push_back(other[e]);
      IRMapping map;
      map.map(result.getArguments(), arguments);
      for (Operation &inner : result.without_terminator())
        b.clone(inner, map);
      for (auto [value, out] : llvm::zip_equal(result.getTerminator()->getOperands(), written))
        out.push_back(map.lookupOrDefault(value));
    }
    for (auto [values, out] : llvm::zip_equal(written, op.getOuts()))
      write(b, values, out, place.at);
  };
  emitSums(b, sums, [&](ArrayRef<SumsAt> places) {
    SmallVector<SmallVector<Values>> others(places.size());
    for (auto [place, ofPlace] : llvm::zip_equal(places, others))
      for (auto [i, other] : llvm::enumerate(op.getOthers()))
        ofPlace.push_back(readIfThere(b, place, other, op.otherMap(static_cast<unsigned>(i))));
    for (auto [place, ofPlace] : llvm::zip_equal(places, others))
      ifThere(b, place, [&, &place = place, &ofPlace = ofPlace] { writeResult(place, ofPlace); });
  });
  sums.erase();
}
