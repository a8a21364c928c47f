//===- PrefetchWeights.cpp - fetch what the next task packs ---------------===//
#include "codegen/cpu/linear/PrefetchWeights.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::transformer;

Value transformer::numTiles(ImplicitLocOpBuilder &b, scf::ForOp rows) {
  Value height = arith::SubIOp::create(b, rows.getUpperBound(), rows.getLowerBound());
  return arith::CeilDivUIOp::create(b, height, rows.getStep());
}

static int64_t turnsOfTile(scf::ForOp loop) {
  return llvm::divideCeil(linearMark(loop).getSteps(), *getConstantIntValue(loop.getStep()));
}

Value transformer::numTurns(ImplicitLocOpBuilder &b, scf::ForOp rows, scf::ForOp loop) {
  Value tiles = arith::MaxUIOp::create(b, numTiles(b, rows), arith::ConstantIndexOp::create(b, 1));
  return arith::MulIOp::create(b, tiles, arith::ConstantIndexOp::create(b, turnsOfTile(loop)));
}

Value transformer::numberOfTile(ImplicitLocOpBuilder &b, scf::ForOp rows) {
  Value above = arith::SubIOp::create(b, rows.getInductionVar(), rows.getLowerBound());
  return arith::DivUIOp::create(b, above, rows.getStep());
}

Value transformer::doneOfK(ImplicitLocOpBuilder &b, scf::ForOp loop) {
  scf::ForOp all = throughK(loop);
  Value done = arith::SubIOp::create(b, loop.getInductionVar(), all.getLowerBound());
  if (int64_t before = linearMark(all).getBefore())
    done = arith::AddIOp::create(b, done, arith::ConstantIndexOp::create(b, before));
  return done;
}

Operation *transformer::packOf(const PanelRead &read) {
  Operation *last = nullptr; // tasks that are one share their panel
  for (Operation *user : read.all().getUsers()) {
    auto pack = dyn_cast<cpu::PackWeightOp>(user);
    auto split = dyn_cast<cpu::SplitPanelsOp>(user);
    if (!(pack && pack.getFirst()) && !(split && split.getFirst()))
      continue;
    Operation *around = user->getBlock()->findAncestorOpInBlock(*read.op);
    if (around && user->isBeforeInBlock(around) && (!last || last->isBeforeInBlock(user)))
      last = user;
  }
  return last;
}

namespace {

/// One panel's part of a weight, line by line.
struct PanelLines {
  PanelLines(cpu::PackWeightOp pack, Value weight, int64_t lineBytes)
      : weight(weight), inOut(pack.getLayout() == WeightLayout::InOut),
        columns(cast<MemRefType>(pack.getOuts()[0].getType()).getShape().back()),
        ofLine(lineBytes / sizeof(float)) {
    ArrayRef<int64_t> sizes = cast<MemRefType>(weight.getType()).getShape();
    inputs = sizes[inOut ? 0 : 1];
    outputs = sizes[inOut ? 1 : 0];
  }

  int64_t panels() const { return llvm::divideCeil(outputs, columns); }
  int64_t ofRow() const { return llvm::divideCeil(inOut ? columns : inputs, ofLine); }
  int64_t count() const { return ofRow() * (inOut ? inputs : columns); }

  /// Lines first .. end - 1 of `panel`.
  void fetch(ImplicitLocOpBuilder &b, Value panel, Value first, Value end) const {
    auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
    Value before = arith::MulIOp::create(b, panel, constant(columns)), one = constant(1),
          ofRows = constant(ofRow()), lineLength = constant(ofLine), last = constant(outputs - 1);
    auto fetchLine = [&](OpBuilder &nested, Location loc, Value line, ValueRange) {
      ImplicitLocOpBuilder body(loc, nested);
      Value row = arith::DivUIOp::create(body, line, ofRows);
      Value column = arith::RemUIOp::create(body, line, ofRows);
      column = arith::MulIOp::create(body, column, lineLength);
      Value &output = inOut ? column : row;
      output = arith::AddIOp::create(body, output, before);
      output = arith::MinUIOp::create(body, output, last); // the last panel may be less than full
      constexpr int64_t secondLevel = 2;
      memref::PrefetchOp::create(body, weight, ValueRange{row, column}, /*isWrite=*/false,
                                 secondLevel, /*isDataCache=*/true);
      scf::YieldOp::create(body);
    };
    scf::ForOp::create(b, first, end, one, ValueRange{}, fetchLine);
  }

  Value weight;
  bool inOut;
  int64_t inputs, outputs, columns, ofLine;
};

} // namespace

std::optional<std::pair<Value, Value>> transformer::linesOfTurn(ImplicitLocOpBuilder &b,
                                                                scf::ForOp loop, int64_t lines) {
  scf::ForOp all = throughK(loop);
  auto rows = all->getParentOfType<scf::ForOp>();
  auto step = getConstantIntValue(loop.getStep());
  if (!rows || !step)
    return std::nullopt;
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value share, before;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(rows);
    share = arith::CeilDivUIOp::create(b, constant(lines), numTurns(b, rows, loop));
    b.setInsertionPoint(all);
    before = arith::MulIOp::create(b, numberOfTile(b, rows), constant(turnsOfTile(loop)));
  }
  Value turn = arith::AddIOp::create(b, before,
                                     arith::DivUIOp::create(b, doneOfK(b, loop), constant(*step)));
  Value first = arith::MulIOp::create(b, turn, share);
  Value end = arith::AddIOp::create(b, first, share);
  return std::pair(first, arith::MinUIOp::create(b, end, constant(lines)).getResult());
}

void transformer::fetchNextWeight(scf::ForOp loop, const PanelRead &read, cpu::PackWeightOp pack,
                                  cpu::TargetAttr target) {
  int64_t lines = PanelLines(pack, pack.getWeights()[0], target.getLineBytes()).count();
  ImplicitLocOpBuilder b(loop.getLoc(), read.op);
  auto turn = linesOfTurn(b, loop, lines);
  if (!turn)
    return;
  auto [first, end] = *turn;
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  // Of the next task the panel that stands where this one does.
  int64_t ofTask = cast<MemRefType>(pack.getOuts()[0].getType()).getDimSize(0);
  Value panel = arith::AddIOp::create(b, pack.getFirst(), constant(ofTask));
  panel = arith::AddIOp::create(b, panel, read.indices[0]);
  for (Value weight : pack.getWeights()) {
    PanelLines ofWeight(pack, weight, target.getLineBytes());
    Value count = constant(ofWeight.panels());
    Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, panel, count);
    auto here = scf::IfOp::create(b, isHere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(here.thenBlock());
    ofWeight.fetch(b, panel, first, end);
    b.setInsertionPointAfter(here);
    panel = arith::SubIOp::create(b, panel, count); // of a weight behind it: far too large
  }
}
