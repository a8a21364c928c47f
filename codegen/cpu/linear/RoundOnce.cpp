//===- RoundOnce.cpp - rows that several read are rounded once ------------===//
//
// The gradient of a linear layer's result is read by the products for its x and for its weight, and
// summed for its bias. All of them take words of bfloat16: made once, where the numbers are made if
// a kernel makes them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/Words.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ROUNDONCE
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool isEven(OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return *constant % 2 == 0;
  auto value = cast<Value>(number);
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return isEven(sum.getLhs()) && isEven(sum.getRhs());
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument == loop.getInductionVar() && isEven(loop.getLowerBound()) &&
         isEven(loop.getStep());
}

/// Those that read x, a tensor of rows, as words.
struct Readers {
  SmallVector<cpu::Bfloat16RowsOp> roundings;
  /// Of slices of x, as are these.
  SmallVector<cpu::Bfloat16RowsOp> ofSlices;
  /// a and b of products over tokens.
  SmallVector<OpOperand *> factors;
};

/// What x is columns of, of which none shares a word with a column in front.
tensor::ExtractSliceOp sliceOf(Value x) {
  auto slice = x.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSourceType().getRank() == 2 && slice.getType().getRank() == 2 &&
                 !slice.getSourceType().isDynamicDim(1) && slice.hasUnitStride() &&
                 isEven(slice.getMixedOffsets()[1])
             ? slice
             : tensor::ExtractSliceOp();
}

llvm::MapVector<Value, Readers> readersOf(func::FuncOp function) {
  llvm::MapVector<Value, Readers> readers;
  function.walk([&](cpu::Bfloat16RowsOp op) {
    if (cast<ShapedType>(op.getOuts()[0].getType()).getRank() != 2)
      return;
    if (tensor::ExtractSliceOp slice = sliceOf(op.getX());
        slice && llvm::any_of(slice.getSource().getUses(), isRoundedFactor))
      readers[slice.getSource()].ofSlices.push_back(op);
    else
      readers[op.getX()].roundings.push_back(op);
  });
  function.walk([&](cpu::WeightGradientOp op) {
    for (OpOperand *factor : {&op.getAMutable(), &op.getBMutable()})
      if (auto of = readers.find(factor->get()); of != readers.end() && isRoundedFactor(*factor))
        of->second.factors.push_back(factor);
  });
  return readers;
}

Value half(ImplicitLocOpBuilder &b, OpFoldResult column) {
  if (std::optional<int64_t> constant = getConstantIntValue(column))
    return arith::ConstantIndexOp::create(b, *constant / 2);
  return arith::DivUIOp::create(b, cast<Value>(column), arith::ConstantIndexOp::create(b, 2));
}

/// A slice of which nothing is read but how many rows it has.
void eraseUnread(IRRewriter &rewriter, tensor::ExtractSliceOp slice) {
  if (!llvm::all_of(slice->getUsers(), countsRows))
    return;
  rewriter.setInsertionPoint(slice);
  for (Operation *dim : llvm::make_early_inc_range(slice->getUsers()))
    rewriter.replaceOp(
        dim, getValueOrCreateConstantIndexOp(rewriter, slice.getLoc(), slice.getMixedSizes()[0]));
  rewriter.eraseOp(slice);
}

void roundOnce(IRRewriter &rewriter, Value x, const Readers &readers) {
  if (readers.roundings.size() + readers.ofSlices.size() + readers.factors.size() < 2)
    return;
  rewriter.setInsertionPointAfterValue(x);
  ImplicitLocOpBuilder b(x.getLoc(), rewriter);
  constexpr int64_t ofLine = 16; // parts of rows begin where they did in rows of numbers
  int64_t words = wordsOf(widthOf(x));
  if (!readers.ofSlices.empty())
    words = llvm::alignTo(words, ofLine);
  Value all = roundRows(b, x, words);
  auto part = [&](cpu::Bfloat16RowsOp op, OpFoldResult row, OpFoldResult column) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    rewriter.setInsertionPoint(op);
    ImplicitLocOpBuilder at(op.getLoc(), rewriter);
    SmallVector<OpFoldResult> offsets = {row, half(at, column)},
                              sizes = tensor::getMixedSizes(at, at.getLoc(), op.getX()),
                              strides(2, at.getIndexAttr(1));
    sizes[1] = at.getIndexAttr(type.getDimSize(1));
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(op, type, all, offsets, sizes, strides);
  };
  for (OpOperand *factor : readers.factors)
    factor->set(all);
  for (cpu::Bfloat16RowsOp op : readers.ofSlices) {
    tensor::ExtractSliceOp slice = sliceOf(op.getX());
    part(op, slice.getMixedOffsets()[0], slice.getMixedOffsets()[1]);
    eraseUnread(rewriter, slice);
  }
  for (cpu::Bfloat16RowsOp op : readers.roundings)
    if (op->getResult(0).getType() == all.getType())
      rewriter.replaceOp(op, all);
    else
      part(op, b.getIndexAttr(0), b.getIndexAttr(0));
}

bool isOnlyReader(Operation *op, Value rows) {
  return llvm::all_of(rows.getUsers(),
                      [&](Operation *user) { return user == op || countsRows(user); });
}

/// Whether a kernel can write a result as words, in place of f32 or beside it.
struct Abilities {
  bool instead = false, beside = false;
};

Abilities abilitiesOf(OpResult result) {
  bool isFirst = result.getResultNumber() == 0;
  return llvm::TypeSwitch<Operation *, Abilities>(result.getOwner())
      .Case([&](kernel::LayerNormOp op) {
        int64_t width = widthOf(result),
                part = cast<ShapedType>(op.getGamma().getType()).getDimSize(0);
        bool startsWithWords = part == width || part % 2 == 0;
        // Sweeps find x + residual where the result goes if it has no place of its own.
        bool keepsRows = op.getResidual().empty() || op.getSum();
        return Abilities{isFirst && startsWithWords && keepsRows, isFirst && startsWithWords};
      })
      .Case([&](kernel::DropoutOp) { return Abilities{true, true}; })
      .Case([&](kernel::CrossEntropyGradientOp) { return Abilities{isFirst, false}; })
      .Default(Abilities());
}

/// What an op that is an activation of rows alone applies.
ActivationOp activationOf(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getInputs().size() != 1 || generic.getOutputs().size() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto activation = dyn_cast<ActivationOp>(generic.getBody()->front());
  bool isAlone = activation && activation->getNextNode() == generic.getBody()->getTerminator() &&
                 activation.getX() == generic.getBody()->getArgument(0) &&
                 generic.getBody()->getTerminator()->getOperand(0) == activation;
  return isAlone ? activation : ActivationOp();
}

/// What makes the numbers rounds them, or an activation is applied where they are rounded.
void fuse(cpu::Bfloat16RowsOp rounding) {
  auto rows = dyn_cast<OpResult>(rounding.getX());
  auto words = cast<RankedTensorType>(rounding->getResult(0).getType());
  if (!rows)
    return;
  if (ActivationOp activation = activationOf(rows.getOwner());
      activation && isOnlyReader(rounding, rows)) {
    Value x = cast<linalg::GenericOp>(rows.getOwner()).getInputs()[0];
    rounding.setActivation(activation.getKind());
    rows.replaceAllUsesWith(x);
    return rows.getOwner()->erase();
  }
  if (words.getRank() != 2)
    return;
  Abilities can = abilitiesOf(rows);
  auto kernelOp = dyn_cast<DestinationStyleOpInterface>(rows.getOwner());
  bool instead = can.instead && isOnlyReader(rounding, rows);
  if (!instead && !can.beside)
    return;
  ImplicitLocOpBuilder b(kernelOp.getLoc(), kernelOp);
  Value out = kernelOp.getTiedOpOperand(rows)->get(), result = rows;
  Value empty = emptyWords(b, out, words.getDimSize(1));
  if (instead)
    kernel::setOut(rows, empty);
  else
    result = kernel::withOut(kernelOp, empty)->getResults().back();
  rounding.replaceAllUsesWith(ValueRange{result});
  rounding.erase();
}

struct RoundOncePass : mlir::transformer::impl::RoundOnceBase<RoundOncePass> {
  using Base::Base;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto &[x, readers] : readersOf(getOperation()))
      roundOnce(rewriter, x, readers);
    SmallVector<cpu::Bfloat16RowsOp> roundings;
    getOperation().walk([&](cpu::Bfloat16RowsOp op) { roundings.push_back(op); });
    for (cpu::Bfloat16RowsOp op : roundings)
      fuse(op);
  }
};

} // namespace
