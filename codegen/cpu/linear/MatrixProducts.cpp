//===- MatrixProducts.cpp - tiles of linear layers in matrix registers ----===//
//
// A tile is two registers of rows by two of columns: of the eight that there are four hold its
// sums, two x and two the panel, so each that is loaded is multiplied twice.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/linear/LinearTiles.h"
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
  int64_t columns = cast<RankedTensorType>(panel.getType()).getDimSize(2);
  Value all = tensor::EmptyOp::create(b, ArrayRef<int64_t>{columns, 1, columns}, b.getF32Type());
  all = cpu::MultiplyMatricesOp::create(b, TypeRange{all.getType()}, x, panel, ValueRange{all})
            .getResult(0);
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0)), strides(3, b.getIndexAttr(1)),
      sizes = {tensor::getMixedSize(b, b.getLoc(), x, 0), b.getIndexAttr(1),
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

static void lower(RewriterBase &rewriter, cpu::MultiplyMatricesOp op) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value x = op.getX(), panel = op.getPanel();
  auto panelType = cast<MemRefType>(panel.getType());
  int64_t steps = panelType.getDimSize(1), size = panelType.getDimSize(2) / 2;
  Value sums = memref::CollapseShapeOp::create(b, op.getOuts()[0],
                                               ArrayRef<ReassociationIndices>{{0, 1}, {2}});
  Value zero = constant(0), second = constant(size);
  constexpr int64_t ofX = 4, ofPanel = 6; // registers 0 to 3: sums, row by row
  Value isTall =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, memref::DimOp::create(b, x, 0), second);
  /// Calls `body` for each half of the rows that there is.
  auto forHalves = [&](function_ref<void(int64_t half, Value firstRow)> body) {
    body(0, zero);
    auto tall = scf::IfOp::create(b, isTall, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tall.thenBlock());
    body(1, second);
  };
  forHalves([&](int64_t half, Value) {
    for (int64_t j = 0; j < 2; ++j)
      cpu::ZeroMatrixOp::create(b, 2 * half + j);
  });
  auto loop = scf::ForOp::create(b, zero, constant(steps), second);
  markPart(loop, LinearPart::Loop, b.getStringAttr("bf16-matrix"), steps);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    for (int64_t j = 0; j < 2; ++j)
      cpu::LoadMatrixOp::create(b, ofPanel + j, panel, ValueRange{zero, step, j ? second : zero});
    forHalves([&](int64_t half, Value row) {
      cpu::LoadMatrixOp::create(b, ofX + half, x, ValueRange{row, step});
      for (int64_t j = 0; j < 2; ++j)
        cpu::AddMatrixProductOp::create(b, 2 * half + j, ofX + half, ofPanel + j);
    });
  }
  forHalves([&](int64_t half, Value row) {
    for (int64_t j = 0; j < 2; ++j)
      cpu::StoreMatrixOp::create(b, 2 * half + j, sums, ValueRange{row, j ? second : zero});
  });
  rewriter.eraseOp(op);
}

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
  for (cpu::MultiplyMatricesOp op : ops)
    lower(rewriter, op);
}
