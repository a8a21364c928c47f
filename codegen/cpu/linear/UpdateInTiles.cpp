//===- UpdateInTiles.cpp - an update beside a product's register tiles ----===//
//
// A task's share of an optimizer's update (MoveUpdates.cpp), a vector in some of the turns of its
// tiles. They count in a number on the stack, and what is left is made behind them: however many
// tiles there are, each vector is updated once.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/ElementwiseVectors.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/linear/PrefetchWeights.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_UPDATEINTILES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Vectors are counted in units of 2^-kFraction.
constexpr int64_t kFraction = 20;

/// The loops over k of the largest register tiles.
SmallVector<scf::ForOp> largestTiles(scf::ForallOp tasks) {
  SmallVector<scf::ForOp> largest;
  tasks.walk([&](scf::ForOp loop) {
    if (!isPart(loop, LinearPart::Loop) || !getConstantIntValue(loop.getStep()) ||
        !throughK(loop)->getParentOfType<scf::ForOp>())
      return;
    if (!largest.empty() && loop.getNumResults() > largest.front().getNumResults())
      largest.clear();
    if (largest.empty() || loop.getNumResults() == largest.front().getNumResults())
      largest.push_back(loop);
  });
  return largest;
}

/// How often a task goes through `rows`: once for each panel of its own.
int64_t panelsOfTask(scf::ForOp rows) {
  int64_t panels = 1;
  for (auto loop = dyn_cast<scf::ForOp>(rows->getParentOp()); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp()))
    if (std::optional<APInt> trips = loop.getStaticTripCount())
      panels *= trips->getSExtValue();
  return panels;
}

class Beside {
public:
  Beside(linalg::GenericOp op, cpu::TargetAttr target) : op(op), b(op, target) {
    ofRow = op.getStaticLoopRanges().back() / b.lanes();
    all = b.mul(b.dim(op.getDpsInitOperand(0)->get(), 0), ofRow);
    counter = b.stackBuffer({1}, b.getIndexType());
    b.store(b.index(0), counter, b.index(0));
  }

  void emit() {
    auto tasks = op->getParentOfType<scf::ForallOp>();
    for (scf::ForOp loop : largestTiles(tasks))
      emitTurn(loop);
    b.setInsertionPoint(tasks.getTerminator());
    update(position(b.load(counter, b.index(0))), all);
    op.erase();
  }

private:
  Value position(Value count) {
    Value whole = arith::ShRUIOp::create(b, count, b.index(kFraction));
    return b.min(whole, all);
  }

  void emitTurn(scf::ForOp loop) {
    auto rows = throughK(loop)->getParentOfType<scf::ForOp>();
    b.setInsertionPoint(rows);
    Value turns = b.mul(numTurns(b, rows, loop), panelsOfTask(rows));
    Value rate = b.ceilDiv(b.mul(all, int64_t(1) << kFraction), turns);
    b.setInsertionPointToStart(loop.getBody());
    Value before = b.load(counter, b.index(0)), behind = b.add(before, rate);
    b.store(behind, counter, b.index(0));
    update(position(before), position(behind));
  }

  void update(Value first, Value end) {
    b.forEach(first, end, 1, [&](Value vector) {
      emitVector(b, op, b.div(vector, ofRow), b.mul(b.rem(vector, b.index(ofRow)), b.lanes()));
    });
  }

  linalg::GenericOp op;
  Emit b;
  int64_t ofRow; // vectors
  Value all, counter;
};

struct UpdateInTilesPass : mlir::transformer::impl::UpdateInTilesBase<UpdateInTilesPass> {
  using Base::Base;
  void runOnOperation() override {
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isPart(op, LinearPart::Beside))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops)
      Beside(op, target).emit();
  }
};

} // namespace
