//===- SumInBlocks.cpp - sums over k as sums of sums ----------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearMarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SUMINBLOCKS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Equal blocks where the number of steps allows it, in fours for unrolling.
int64_t blockOf(int64_t steps, int64_t most) {
  int64_t blocks = llvm::divideCeil(steps, most);
  return steps % (4 * blocks) == 0 ? steps / blocks : most;
}

/// The steps lower .. upper of `loop`, summed from zero. `before`: how many k
/// the register tile has gone through by then, if the loop stands alone.
SmallVector<Value> sumBlock(ImplicitLocOpBuilder &b, scf::ForOp loop, Value lower, Value upper,
                            int64_t before) {
  SmallVector<Value> zeros;
  for (Type type : loop.getResultTypes())
    zeros.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  auto block = scf::ForOp::create(b, lower, upper, loop.getStep(), zeros);
  block->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (before) {
    cpu::LinearAttr mark = linearMark(loop);
    markPart(block, mark.getPart(), mark.getFormat(), mark.getSteps(), before, mark.getPanels());
  }
  IRMapping map;
  map.map(loop.getInductionVar(), block.getInductionVar());
  map.map(loop.getRegionIterArgs(), block.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block.getBody());
  for (Operation &op : *loop.getBody())
    b.clone(op, map);
  return block.getResults();
}

SmallVector<Value> addTo(ImplicitLocOpBuilder &b, ValueRange totals, ValueRange sums) {
  SmallVector<Value> result;
  for (auto [total, sum] : llvm::zip_equal(totals, sums))
    result.push_back(arith::AddFOp::create(b, total, sum));
  return result;
}

/// The steps from .. to of `loop` in blocks of `size`, each summed from zero and added to `totals`;
/// `to` is of whole blocks, or the last is shorter.
ValueRange sumBlocks(ImplicitLocOpBuilder &b, scf::ForOp loop, Value from, Value to, Value size,
                     ValueRange totals, bool areWhole) {
  auto blocks = scf::ForOp::create(
      b, from, to, size, totals, [&](OpBuilder &nested, Location loc, Value k, ValueRange args) {
        ImplicitLocOpBuilder body(loc, nested);
        Value end = arith::AddIOp::create(body, k, size);
        if (!areWhole)
          end = arith::MinUIOp::create(body, end, to);
        scf::YieldOp::create(body, addTo(body, args, sumBlock(body, loop, k, end, 0)));
      });
  markPart(blocks, LinearPart::Blocks);
  return blocks.getResults();
}

void sumInBlocks(IRRewriter &rewriter, scf::ForOp loop, int64_t most) {
  int64_t steps = linearMark(loop).getSteps();
  if (steps <= most)
    return;
  int64_t size = blockOf(steps, most), whole = steps / size * size, done = 0;
  rewriter.setInsertionPoint(loop);
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  Value lower = loop.getLowerBound();
  auto after = [&](int64_t k) -> Value {
    return k ? arith::AddIOp::create(b, lower, arith::ConstantIndexOp::create(b, k)) : lower;
  };
  SmallVector<Value> totals(loop.getInitArgs());
  if (whole > size) {
    Value end = after(whole);
    totals = sumBlocks(b, loop, lower, end, arith::ConstantIndexOp::create(b, size), totals,
                       /*areWhole=*/true);
    done = whole;
  }
  for (int64_t end : {whole, steps}) // one block alone, one that is not whole
    if (done < end) {
      totals = addTo(b, totals, sumBlock(b, loop, after(done), after(end), done));
      done = end;
    }
  rewriter.replaceOp(loop, totals);
}

/// A loop over steps of several rows of a panel: one loop over all blocks, the last of
/// which may be shorter, since the code of a step is long.
void sumStepsInBlocks(IRRewriter &rewriter, scf::ForOp loop, int64_t most) {
  int64_t steps = linearMark(loop).getSteps();
  int64_t count = llvm::divideCeil(steps, most);
  if (count == 1)
    return;
  rewriter.setInsertionPoint(loop);
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  Value size = arith::ConstantIndexOp::create(b, llvm::divideCeil(steps, count));
  rewriter.replaceOp(loop, sumBlocks(b, loop, loop.getLowerBound(), loop.getUpperBound(), size,
                                     loop.getInitArgs(), /*areWhole=*/false));
}

struct SumInBlocksPass : mlir::transformer::impl::SumInBlocksBase<SumInBlocksPass> {
  using Base::Base;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (isPart(loop, LinearPart::Loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      const LinearFormat &format = formatOf(loop);
      int64_t most = steps ? steps : format.sumSteps();
      format.panelRows() == 1 ? sumInBlocks(rewriter, loop, most)
                              : sumStepsInBlocks(rewriter, loop, most);
    }
  }
};

} // namespace
