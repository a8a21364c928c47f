//===- SumInBlocks.cpp - sums over k as sums of sums ----------------------===//
#include "codegen/Linear.h"
#include "codegen/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SUMINBLOCKS
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Equal blocks where the number of steps allows it, in fours for unrolling.
int64_t blockOf(int64_t steps, int64_t most) {
  int64_t blocks = llvm::divideCeil(steps, most);
  return steps % (4 * blocks) == 0 ? steps / blocks : most;
}

/// The steps lower .. upper of `loop`, summed from zero, added to `totals`.
SmallVector<Value> addBlock(ImplicitLocOpBuilder &b, scf::ForOp loop, Value lower, Value upper,
                            ValueRange totals) {
  SmallVector<Value> zeros;
  for (Value total : totals)
    zeros.push_back(arith::ConstantOp::create(b, b.getZeroAttr(total.getType())));
  auto block = scf::ForOp::create(b, lower, upper, loop.getStep(), zeros);
  block->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  IRMapping map;
  map.map(loop.getInductionVar(), block.getInductionVar());
  map.map(loop.getRegionIterArgs(), block.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block.getBody());
  for (Operation &op : *loop.getBody())
    b.clone(op, map);
  b.setInsertionPointAfter(block);
  SmallVector<Value> sums;
  for (auto [total, sum] : llvm::zip_equal(totals, block.getResults()))
    sums.push_back(arith::AddFOp::create(b, total, sum));
  return sums;
}

void sumInBlocks(IRRewriter &rewriter, scf::ForOp loop, int64_t most) {
  int64_t steps = cast<IntegerAttr>(loop->getAttr(kLoopOverK)).getInt();
  if (steps <= most + most / 2)
    return;
  int64_t size = blockOf(steps, most), whole = steps / size * size;
  rewriter.setInsertionPoint(loop);
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  Value lower = loop.getLowerBound(), step = arith::ConstantIndexOp::create(b, size);
  Value end = arith::AddIOp::create(b, lower, arith::ConstantIndexOp::create(b, whole));
  auto blocks = scf::ForOp::create(
      b, lower, end, step, loop.getInitArgs(),
      [&](OpBuilder &nested, Location loc, Value k, ValueRange totals) {
        ImplicitLocOpBuilder body(loc, nested);
        Value blockEnd = arith::AddIOp::create(body, k, step);
        scf::YieldOp::create(body, addBlock(body, loop, k, blockEnd, totals));
      });
  blocks->setAttr(kLoopOverKBlocks, b.getUnitAttr());
  SmallVector<Value> sums(blocks.getResults());
  if (whole < steps)
    sums = addBlock(b, loop, end, loop.getUpperBound(), sums);
  rewriter.replaceOp(loop, sums);
}

struct SumInBlocksPass : mlir::transformer::impl::SumInBlocksBase<SumInBlocksPass> {
  using Base::Base;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(kLoopOverK))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      sumInBlocks(rewriter, loop, steps);
  }
};

} // namespace
