//===- RoundInEpilogues.cpp - rows for the next product, made where they are computed -===//
//
// What a linear layer with an activation computes is often read by the next one alone, rounded to
// bfloat16 or split into parts. Written as float32 it would go through memory once more, and a
// store to lines that are in no near cache takes longer than the products of a matrix register.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ROUNDINEPILOGUES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What one op that makes rows reads, `[rows, panels, columns]`, and what writes it.
class Rounding {
public:
  Rounding(cpu::Bfloat16RowsOp rows, cpu::TargetAttr target) : rows(rows), target(target) {}

  /// Whether nothing but the op reads it, and only vectors of whole columns of panels write it.
  bool isPossible() {
    Value x = rows.getX();
    if (auto merged = x.getDefiningOp<memref::CollapseShapeOp>())
      x = merged.getSrc();
    whole = x.getDefiningOp<memref::AllocOp>();
    into = rows.getOuts()[0].getDefiningOp<memref::AllocOp>();
    if (rows.getActivation() || !whole || !into || whole.getType().getRank() != 3 ||
        !whole.getType().isDynamicDim(0) || whole->getBlock() != rows->getBlock() ||
        into->getBlock() != rows->getBlock() || whole.getDynamicSizes().size() != 1 ||
        into.getDynamicSizes().size() != 1)
      return false;
    columns = whole.getType().getDimSize(2);
    auto words = into.getType();
    bool isOfRegisters = words.getRank() == 5;
    if (isOfRegisters ? 2 * words.getDimSize(4) != columns : 2 * words.getDimSize(1) != width())
      return false;
    bool isFresh = llvm::none_of(into->getUsers(), [&](Operation *user) {
      return rows->getBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(rows);
    });
    return isFresh && collect(whole) && !writes.empty();
  }

  void apply() {
    Emit b(whole, target);
    b.setInsertionPointAfter(whole);
    Value count = whole.getDynamicSizes()[0];
    if (into.getType().getRank() == 5)
      count = b.ceilDiv(count, into.getType().getDimSize(3));
    auto made =
        memref::AllocOp::create(b, into.getType(), ValueRange{count}, into.getAlignmentAttr());
    for (vector::TransferWriteOp write : writes)
      replace(write, made);
    for (memref::DimOp dim : dims) {
      dim.replaceAllUsesWith(whole.getDynamicSizes()[0]);
      dim.erase();
    }
    rows.erase();
    into.replaceAllUsesWith(made.getResult());
    into.erase();
    for (Operation *view : llvm::reverse(views))
      view->erase();
    whole.erase();
  }

private:
  int64_t width() { return whole.getType().getDimSize(1) * columns; }

  bool collect(Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (user == rows)
        return true;
      if (auto dim = dyn_cast<memref::DimOp>(user);
          dim && dim.getConstantIndex() == 0 && dim->getBlock() == rows->getBlock()) {
        dims.insert(dim);
        return true;
      }
      if (auto write = dyn_cast<vector::TransferWriteOp>(user)) {
        writes.push_back(write);
        return isOfColumns(write);
      }
      if (isCopyToItself(user)) {
        views.insert(user);
        return true;
      }
      auto slice = dyn_cast<memref::SubViewOp>(user);
      bool isSlice = slice && slice.hasUnitStride() && slice.getType().getRank() == 3 &&
                     isZeroInteger(slice.getMixedOffsets()[2]) &&
                     slice.getType().getDimSize(2) == columns;
      if (!isSlice && !isa<memref::CollapseShapeOp>(user))
        return false;
      if (views.insert(user)) // a merged view may be counted, and read by the op
        return collect(user);
      return true;
    });
  }

  bool isOfColumns(vector::TransferWriteOp write) const {
    VectorType type = write.getVectorType();
    return type.getRank() == 3 && type.getDimSize(2) == columns && !write.getMask() &&
           !write.hasOutOfBoundsDim() && write.getPermutationMap().isIdentity() &&
           isZeroInteger(write.getIndices()[2]);
  }

  /// Each row of the vector to where it is read.
  void replace(vector::TransferWriteOp write, Value made) {
    Emit b(write, target);
    Value row = write.getIndices()[0], panel = write.getIndices()[1];
    for (Value view = write.getBase(); auto slice = view.getDefiningOp<memref::SubViewOp>();
         view = slice.getSource()) {
      auto offset = [&](unsigned dim) {
        return getValueOrCreateConstantIndexOp(b, b.getLoc(), slice.getMixedOffsets()[dim]);
      };
      row = b.add(row, offset(0));
      panel = b.add(panel, offset(1));
    }
    VectorType type = write.getVectorType();
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      for (int64_t j = 0; j < type.getDimSize(1); ++j) {
        Value features =
            vector::ExtractOp::create(b, write.getValueToStore(), ArrayRef<int64_t>{i, j});
        store(b, features, b.add(row, i), b.add(panel, j), made);
      }
    write.erase();
  }

  void store(Emit &b, Value features, Value row, Value panel, Value made) const {
    auto type = cast<MemRefType>(made.getType());
    if (type.getRank() == 2) {
      Value words = emitNeighbourPairs(b, features, parts::kRounded)[0];
      vector::StoreOp::create(b, words, made, ValueRange{row, b.mul(panel, columns / 2)});
      return;
    }
    int64_t size = type.getDimSize(3);
    for (auto [part, words] : llvm::enumerate(emitNeighbourPairs(b, features, type.getDimSize(2))))
      vector::StoreOp::create(b, words, made,
                              ValueRange{b.div(row, size), panel, b.index(part),
                                         b.rem(row, b.index(size)), b.index(0)});
  }

  cpu::Bfloat16RowsOp rows;
  cpu::TargetAttr target;
  memref::AllocOp whole, into;
  int64_t columns = 0;
  SmallVector<vector::TransferWriteOp> writes;
  llvm::SetVector<memref::DimOp> dims;
  llvm::SetVector<Operation *> views;
};

struct RoundInEpiloguesPass : mlir::transformer::impl::RoundInEpiloguesBase<RoundInEpiloguesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<cpu::Bfloat16RowsOp> ops;
    getOperation().walk([&](cpu::Bfloat16RowsOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    for (cpu::Bfloat16RowsOp op : ops)
      if (Rounding rounding(op, target); rounding.isPossible())
        rounding.apply();
  }
};

} // namespace
