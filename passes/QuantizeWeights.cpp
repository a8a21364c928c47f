//===- QuantizeWeights.cpp - linear layers on numbers of narrow formats ---===//
#include "dialect/GradientOps.h"
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_QUANTIZEENCODERSPASS
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

/// What rounds rows in a block by now; null: nothing does.
static QuantizeRowsOp roundedIn(Block *block, Value x, WeightFormat format) {
  QuantizeRowsOp found;
  for (Operation *user : x.getUsers())
    if (auto rounded = dyn_cast<QuantizeRowsOp>(user);
        rounded && rounded.getFormat() == format && rounded->getBlock() == block)
      found = rounded;
  return found;
}

/// Once for all that read these rows: where they are made.
static void quantizeRows(OpOperand &operand, WeightFormat format) {
  Value x = operand.get();
  if (x.getDefiningOp<QuantizeRowsOp>())
    return;
  Operation *reader = operand.getOwner();
  OpBuilder b(reader);
  b.setInsertionPointAfterValue(x);
  QuantizeRowsOp rounded = roundedIn(b.getBlock(), x, format);
  if (!rounded)
    rounded = QuantizeRowsOp::create(b, reader->getLoc(), x, format);
  operand.set(rounded);
}

/// Columns of a merged projection at once.
static void quantizeHeads(OpOperand &operand, WeightFormat format) {
  auto split = operand.get().getDefiningOp<SplitOp>();
  bool isOfHeads =
      split &&
      llvm::all_of(split->getUsers(), llvm::IsaPred<AttentionOp, AppendPagesOp, PagedAttentionOp>);
  quantizeRows(isOfHeads ? split->getOpOperand(0) : operand, format);
}

/// What attention multiplies; those with scores of distances are left alone.
template <typename Op> static bool quantizeHeads(Op op, WeightFormat format) {
  if (op.getColumns())
    return false;
  for (OpOperand *operand : {&op.getQMutable(), &op.getKMutable(), &op.getVMutable()})
    quantizeHeads(*operand, format);
  op.setOptionsAttr(op.getOptions().withRounding(floatTypeOf(format, op.getContext())));
  return true;
}

namespace {

struct QuantizeWeights : transformer::impl::QuantizeWeightsPassBase<QuantizeWeights> {
  using Base::Base;
  void runOnOperation() override {
    if (format == "f32")
      return;
    std::optional<WeightFormat> found = symbolizeWeightFormat(format.getValue());
    if (!found) {
      getOperation().emitError("weight format \"" + format.getValue() +
                               "\": expected f32, bf16, f16, tf32, int8 or int4");
      return signalPassFailure();
    }
    std::optional<WeightFormat> rows;
    if (activations != "f32") {
      rows = symbolizeWeightFormat(activations.getValue());
      if (!rows || rows == WeightFormat::Int4) {
        getOperation().emitError("activations \"" + activations.getValue() +
                                 "\": expected f32, bf16, f16, tf32 or int8");
        return signalPassFailure();
      }
    }
    getOperation().walk([&](LinearOp op) {
      Value weight = op.getWeight();
      if (!weight.getDefiningOp<QuantizeWeightOp>()) {
        OpBuilder b(op);
        weight = QuantizeWeightOp::create(b, op.getLoc(), weight, *found, op.getLayout());
        op.getWeightMutable().assign(weight);
      }
      WeightFormat format = weight.getDefiningOp<QuantizeWeightOp>().getFormat();
      if (rows && typeOf(*rows) == typeOf(format))
        quantizeRows(op.getXMutable(), *rows);
    });
    FloatType type = rows ? typeOf(*rows) : FloatType();
    if (!type)
      return;
    getOperation().walk([&](LinearWeightGradientOp op) {
      quantizeRows(op.getXMutable(), *rows);
      quantizeRows(op.getDyMutable(), *rows);
    });
    if (type.isTF32()) // what is no product is of float32 then
      return;
    if (attention)
      quantizeAttention(*rows);
    getOperation().walk([&](SumRowsOp op) {
      QuantizeRowsOp rounded = roundedIn(op->getBlock(), op.getX(), *rows);
      if (rounded && rounded->isBeforeInBlock(op))
        op.getXMutable().assign(rounded.getResult());
    });
  }

private:
  void quantizeAttention(WeightFormat rows) {
    getOperation().walk([&](AttentionOp op) { quantizeHeads(op, rows); });
    getOperation().walk([&](AppendPagesOp op) {
      for (OpOperand *operand : {&op.getKMutable(), &op.getVMutable()})
        quantizeHeads(*operand, rows);
    });
    getOperation().walk([&](PagedAttentionOp op) {
      quantizeHeads(op.getQMutable(), rows);
      op.setOptionsAttr(op.getOptions().withRounding(typeOf(rows)));
    });
    getOperation().walk([&](AttentionGradientOp op) {
      if (quantizeHeads(op, rows))
        quantizeRows(op.getDresultMutable(), rows);
    });
  }

  FloatType typeOf(WeightFormat format) { return floatTypeOf(format, &getContext()); }
};

/// Of programs that keep no state: a step gives what the whole sequence gives, and caches are
/// float32 then.
struct QuantizeEncoders : transformer::impl::QuantizeEncodersPassBase<QuantizeEncoders> {
  using Base::Base;
  void runOnOperation() override {
    std::optional<WeightFormat> rows = symbolizeWeightFormat(activations.getValue());
    if (!rows || !floatTypeOf(*rows, &getContext())) {
      getOperation().emitError("activations \"" + activations.getValue() +
                               "\": expected bf16 or f16");
      return signalPassFailure();
    }
    WalkResult found = getOperation().walk([](Operation *op) {
      return isa<AppendPagesOp, PagedAttentionOp>(op) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      getOperation().walk([&](AttentionOp op) { quantizeHeads(op, *rows); });
  }
};

} // namespace
