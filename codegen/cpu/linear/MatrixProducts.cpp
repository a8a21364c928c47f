//===- MatrixProducts.cpp - tiles of linear layers in matrix registers
//----===//----------------------------------------------------------------------===//
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "codegen/cpu/linear/MatrixStep.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::transformer;

Value transformer::multiplyMatrices(RewriterBase &rewriter, linalg::GenericOp contraction) {
  rewriter.setInsertionPoint(contraction);
  ImplicitLocOpBuilder b(contraction.getLoc(), rewriter);
  Value x = rowsOf(contraction), panel = panelsOf(contraction);
  int64_t columns = cast<RankedTensorType>(panel.getType()).getDimSize(3);
  Value all = tensor::EmptyOp::create(b, ArrayRef<int64_t>{columns, 1, columns}, b.getF32Type());
  all = cpu::MultiplyMatricesOp::create(b, TypeRange{all.getType()}, x, panel, ValueRange{all})
            .getResult(0);
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)), strides(3, b.getIndexAttr(1)),
      sizes = {tensor::getMixedSize(b, b.getLoc(), x, 1), b.getIndexAttr(1),
               b.getIndexAttr(columns)};
  return tensor::ExtractSliceOp::create(b, type, all, offsets, sizes, strides);
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

namespace {

/// One op's loop.
class MatrixLoop {
public:
  explicit MatrixLoop(OpBuilder &builder, cpu::MultiplyMatricesOp op)
      : b(op.getLoc(), builder), x(op.getX()), panel(op.getPanel()),
        parts(cast<MemRefType>(panel.getType()).getDimSize(1)),
        steps(cast<MemRefType>(panel.getType()).getDimSize(2)),
        size(cast<MemRefType>(panel.getType()).getDimSize(3) / 2) {
    sums = memref::CollapseShapeOp::create(b, op.getOuts()[0],
                                           ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  }

  /// With a half of the rows less where there are no more.
  void emit() {
    Value isTall = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt,
                                         memref::DimOp::create(b, x, 1), constant(size));
    auto of = [&](int64_t halves) {
      return [this, halves](OpBuilder &nested, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        emitHalves(halves);
        scf::YieldOp::create(b);
      };
    };
    scf::IfOp::create(b, isTall, of(2), of(1));
  }

private:
  Value constant(int64_t v) { return arith::ConstantIndexOp::create(b, v); }

  void emitHalves(int64_t halves) {
    for (int64_t i = 0; i < halves; ++i)
      for (int64_t j = 0; j < 2; ++j)
        cpu::ZeroMatrixOp::create(b, registerOfSums(i, j));
    auto loop = scf::ForOp::create(b, constant(0), constant(steps), constant(size));
    const LinearFormat &format =
        parts == parts::kRounded ? bfloat16MatrixFormat() : float32MatrixFormat();
    markPart(loop, LinearPart::Loop, b.getStringAttr(format.name()), steps);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      emitStep(halves, loop.getInductionVar());
    }
    for (int64_t i = 0; i < halves; ++i)
      for (int64_t j = 0; j < 2; ++j)
        cpu::StoreMatrixOp::create(b, registerOfSums(i, j), sums,
                                   ValueRange{constant(i * size), constant(j * size)});
  }

  void emitStep(int64_t halves, Value step) {
    using Place = SmallVector<Value>;
    emitMatrixStep(
        b, parts, halves, x,
        [&](int64_t part, int64_t i) { return Place{constant(part), constant(i * size), step}; },
        panel,
        [&](int64_t part, int64_t j) {
          return Place{constant(0), constant(part), step, constant(j * size)};
        });
  }

  ImplicitLocOpBuilder b;
  Value x, panel, sums;
  int64_t parts, steps, size;
};

} // namespace

void transformer::lowerMultiplyMatrices(RewriterBase &rewriter,
                                        ArrayRef<cpu::MultiplyMatricesOp> ops) {
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
  for (cpu::MultiplyMatricesOp op : ops) {
    rewriter.setInsertionPoint(op);
    MatrixLoop(rewriter, op).emit();
    rewriter.eraseOp(op);
  }
}
