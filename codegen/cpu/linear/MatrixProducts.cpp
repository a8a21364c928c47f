//===- MatrixProducts.cpp - tiles of linear layers in matrix registers
//----===//----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/LaterEpilogue.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/linear/MatrixStep.h"
#include "codegen/cpu/linear/Parts.h"
#include "codegen/cpu/linear/PrefetchWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::transformer;

static Value index(ImplicitLocOpBuilder &b, OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), value);
}

FailureOr<Value> transformer::multiplyMatrices(RewriterBase &rewriter,
                                               linalg::GenericOp contraction) {
  rewriter.setInsertionPoint(contraction);
  ImplicitLocOpBuilder b(contraction.getLoc(), rewriter);
  Value x = rowsOf(contraction), panel = panelsOf(contraction), first = index(b, b.getIndexAttr(0));
  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), x, 1);
  while (auto slice = x.getDefiningOp<tensor::ExtractSliceOp>()) {
    first = arith::AddIOp::create(b, first, index(b, slice.getMixedOffsets()[1]));
    x = slice.getSource();
  }
  auto registers = x.getDefiningOp<linalg::UnPackOp>();
  if (!registers)
    return contraction.emitOpError("reads rows that are in no registers");
  int64_t columns = cast<RankedTensorType>(panel.getType()).getDimSize(3);
  Value all = tensor::EmptyOp::create(b, ArrayRef<int64_t>{columns, 1, columns}, b.getF32Type());
  all = cpu::MultiplyMatricesOp::create(b, TypeRange{all.getType()}, registers.getSource(), first,
                                        index(b, rows), panel, ValueRange{all})
            .getResult(0);
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)), strides(3, b.getIndexAttr(1)),
      sizes = {rows, b.getIndexAttr(1), b.getIndexAttr(columns)};
  return tensor::ExtractSliceOp::create(b, type, all, offsets, sizes, strides).getResult();
}

/// What the registers are configured around: the outermost loop or branch around `op` in its task,
/// as far as nothing is called there or handed to other tasks.
static Operation *configuredAround(Operation *op) {
  while (isa<scf::ForOp, scf::IfOp>(op->getParentOp())) {
    WalkResult calls = op->getParentOp()->walk([](Operation *inner) {
      return isa<CallOpInterface, scf::ForallOp>(inner) ? WalkResult::interrupt()
                                                        : WalkResult::advance();
    });
    if (calls.wasInterrupted())
      break;
    op = op->getParentOp();
  }
  return op;
}

static bool dependsOn(Value value, Value place) {
  Operation *op = value.getDefiningOp();
  return value == place || (op && llvm::any_of(op->getOperands(), [&](Value operand) {
                              return dependsOn(operand, place);
                            }));
}

namespace {

/// One op's loop.
class MatrixLoop {
public:
  MatrixLoop(OpBuilder &builder, cpu::MultiplyMatricesOp op, Operation *pack, LaterEpilogue *before)
      : pack(pack), split(dyn_cast_or_null<cpu::SplitPanelsOp>(pack)), b(op.getLoc(), builder),
        x(op.getX()), first(op.getFirst()), rows(op.getRows()), panel(op.getPanel()),
        before(before), parts(cast<MemRefType>(panel.getType()).getDimSize(1)),
        steps(cast<MemRefType>(panel.getType()).getDimSize(2)),
        size(cast<MemRefType>(panel.getType()).getDimSize(3) / 2) {
    sums = memref::CollapseShapeOp::create(b, op.getOuts()[0],
                                           ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  }

  void emit() {
    forSums([&](int64_t sum, int64_t, int64_t) { cpu::ZeroMatrixOp::create(b, sum); });
    if (before)
      before->findTile(b);
    if (split) {
      findSource();
      splitStep(constant(0), isFirst);
    }
    Value isTall = compare(arith::CmpIPredicate::ugt, rows, size);
    auto loop = scf::ForOp::create(b, constant(0), constant(steps), constant(size));
    const LinearFormat &format =
        parts == parts::kRounded ? bfloat16MatrixFormat() : float32MatrixFormat();
    markPart(loop, LinearPart::Loop, b.getStringAttr(format.name()), steps);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value step = loop.getInductionVar();
      Value makesNext;
      if (split) {
        Value next = arith::AddIOp::create(b, step, constant(size));
        Value isThere = compare(arith::CmpIPredicate::ult, next, steps);
        makesNext = arith::AndIOp::create(b, isFirst, isThere);
        splitStep(next, isInside() ? arith::AndIOp::create(b, makesNext, isTall) : makesNext);
      }
      if (before)
        before->emitRows(b, step, size, steps);
      auto halves = [&](int64_t count) { // of the rows, or one less where there are no more
        return [this, step, count, makesNext](OpBuilder &nested, Location) {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(nested.saveInsertionPoint());
          if (count == 1 && makesNext && isInside())
            emitShortStep(step, makesNext);
          else
            emitStep(count, step);
          scf::YieldOp::create(b);
        };
      };
      scf::IfOp::create(b, isTall, halves(2), halves(1));
    }
    if (!pack)
      streamRows(loop);
    forSums([&](int64_t sum, int64_t i, int64_t j) {
      cpu::StoreMatrixOp::create(b, sum, sums, ValueRange{constant(i * size), constant(j * size)});
    });
  }

private:
  Value constant(int64_t v) { return arith::ConstantIndexOp::create(b, v); }

  Value compare(arith::CmpIPredicate predicate, Value left, int64_t right) {
    return arith::CmpIOp::create(b, predicate, left, constant(right));
  }

  /// Of panels in memory a tile leaves half in the first-level cache if x, of which it reads as
  /// much, takes no place there; its sums stay, too.
  void streamRows(scf::ForOp loop) const {
    loop.walk([&](cpu::LoadMatrixOp load) {
      if (load.getMemory() == x)
        load.setStreamed(true);
    });
  }

  /// Which panel that is, and whether this tile makes it: the first one does. If that is all that
  /// reads it, two steps in turn have the same place, which the first-level cache holds.
  void findSource() {
    source = split.getFirst();
    for (Value part = panel; auto view = part.getDefiningOp<memref::SubViewOp>();
         part = view.getSource())
      source = arith::AddIOp::create(b, source, index(b, view.getMixedOffsets()[0]));
    isFirst = arith::ConstantIntOp::create(b, b.getI1Type(), true);
    for (auto loop = b.getBlock()->getParentOp(); loop; loop = loop->getParentOp())
      if (auto tiles = dyn_cast<scf::ForOp>(loop);
          tiles && dependsOn(first, tiles.getInductionVar()))
        isFirst = arith::AndIOp::create(b, isFirst,
                                        arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                              tiles.getInductionVar(),
                                                              tiles.getLowerBound()));
    Value isAll = compare(arith::CmpIPredicate::ule, memref::DimOp::create(b, x, 0), 2);
    places = arith::SelectOp::create(b, isAll, constant(size), constant(-1));
  }
  Value placeOf(Value step) { return split ? arith::AndIOp::create(b, step, places) : step; }

  /// Whether no step is cut off.
  bool isInside() {
    return cast<MemRefType>(split.getPanels().getType()).getDimSize(1) == 2 * steps;
  }

  void splitStep(Value step, Value condition) {
    auto own = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(own.thenBlock());
    splitWords(step, 0, size);
  }

  /// Of `count` words of a step from `lower` on.
  void splitWords(Value step, int64_t lower, int64_t count) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets(4, zero), strides(4, one),
        sizes = {one, b.getIndexAttr(parts), b.getIndexAttr(count), b.getIndexAttr(2 * size)};
    offsets[2] = arith::AddIOp::create(b, placeOf(step), constant(lower)).getResult();
    Value word = arith::AddIOp::create(b, step, constant(lower));
    Value into = memref::SubViewOp::create(b, panel, offsets, sizes, strides);
    cpu::SplitPanelsOp::create(b, TypeRange(), split.getPanels(), source, word, ValueRange{into},
                               split.getAhead(), isInside());
  }

  /// Of one half of the rows products are two chains, in which each waits for the one before:
  /// words of the next step are split meanwhile.
  void emitShortStep(Value step, Value makesNext) {
    auto both = scf::IfOp::create(b, makesNext, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(both.thenBlock());
    Value next = arith::AddIOp::create(b, step, constant(size));
    emitStep(1, step, [&](int64_t done, int64_t all) {
      for (int64_t word = size * done / all; word < size * (done + 1) / all; ++word)
        splitWords(next, word, 1);
    });
    b.setInsertionPointToStart(both.elseBlock());
    emitStep(1, step);
  }

  /// Behind the last step comes the first one of the rows behind these.
  void emitStep(int64_t halves, Value step, BesideProduct beside = {}) {
    using Place = SmallVector<Value>;
    Value zero = constant(0), ofRows = arith::DivUIOp::create(b, first, constant(size)),
          ofSteps = arith::DivUIOp::create(b, step, constant(size));
    Value next = arith::AddIOp::create(b, step, constant(size));
    Value isLast = compare(arith::CmpIPredicate::eq, next, steps);
    next = arith::SelectOp::create(b, isLast, zero, next);
    Value rowsBehind = arith::AddIOp::create(b, ofRows, constant(2));
    Value nextRows = arith::SelectOp::create(b, isLast, rowsBehind, ofRows);
    Value ofNext = arith::DivUIOp::create(b, next, constant(size));
    emitMatrixStep(
        b, parts, halves, x,
        [&](int64_t part, int64_t i, bool isNext) {
          Value ofHalf = arith::AddIOp::create(b, isNext ? nextRows : ofRows, constant(i));
          return Place{ofHalf, isNext ? ofNext : ofSteps, constant(part), zero, zero};
        },
        panel,
        [&](int64_t part, int64_t j, bool isNext) {
          return Place{zero, constant(part), placeOf(isNext ? next : step), constant(j * size)};
        },
        beside);
  }

  Operation *pack; // what makes the panel in the task; null: it is in memory
  cpu::SplitPanelsOp split;
  Value source, isFirst, places;
  ImplicitLocOpBuilder b;
  Value x, first, rows, panel, sums;
  LaterEpilogue *before; // of the tile before; null: the epilogue stays where it is
  int64_t parts, steps, size;
};

} // namespace

void transformer::lowerMultiplyMatrices(RewriterBase &rewriter,
                                        ArrayRef<cpu::MultiplyMatricesOp> ops) {
  SmallVector<std::optional<LaterEpilogue>> epilogues;
  for (cpu::MultiplyMatricesOp op : ops)
    if (epilogues.emplace_back(LaterEpilogue::of(op)))
      epilogues.back()->carry(rewriter);
  llvm::SetVector<Operation *> around;
  for (cpu::MultiplyMatricesOp op : ops)
    around.insert(configuredAround(op));
  for (Operation *op : around) {
    rewriter.setInsertionPoint(op);
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    Value scratch = memref::AllocOp::create(b, MemRefType::get({16}, b.getF32Type()));
    cpu::ConfigureMatricesOp::create(b, scratch);
    rewriter.setInsertionPointAfter(op);
    cpu::ReleaseMatricesOp::create(rewriter, op->getLoc());
  }
  llvm::SetVector<Operation *> splits;
  for (auto [op, epilogue] : llvm::zip_equal(ops, epilogues)) {
    cpu::MultiplyMatricesOp product = op;
    Operation *pack = packOf({product, product.getPanel(), {}});
    if (isa_and_nonnull<cpu::SplitPanelsOp>(pack))
      splits.insert(pack);
    rewriter.setInsertionPoint(op);
    MatrixLoop(rewriter, op, pack, epilogue ? &*epilogue : nullptr).emit();
    if (epilogue)
      epilogue->emitLast(rewriter);
    rewriter.eraseOp(op);
  }
  for (Operation *split : splits)
    rewriter.eraseOp(split);
}
