//===- MatrixStep.cpp - products of a tile in matrix registers ------------===//
#include "codegen/cpu/linear/MatrixStep.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr int64_t kRegisterOfX = 4, kRegisterOfPanel = 6, kColumnHalves = 2;

/// A register's row.
struct Line {
  Value memory;
  SmallVector<Value> place;

  void fetch(ImplicitLocOpBuilder &b) const {
    constexpr unsigned firstLevel = 3;
    memref::PrefetchOp::create(b, memory, place, /*isWrite=*/false, firstLevel,
                               /*isDataCache=*/true);
  }
};

} // namespace

/// What a step loads, in its order.
static SmallVector<Line> linesOf(ImplicitLocOpBuilder &b, int64_t parts, int64_t halves, Value x,
                                 MatrixPlace ofX, Value panel, MatrixPlace ofPanel) {
  SmallVector<Line> lines;
  auto add = [&](Value memory, MatrixPlace placeOf, int64_t part, int64_t count) {
    for (int64_t half = 0; half < count; ++half)
      for (int64_t i = 0; i < cast<MemRefType>(x.getType()).getShape().back(); ++i) {
        SmallVector<Value> place = placeOf(part, half, /*isNext=*/true);
        Value &row = place[place.size() - 2];
        row = arith::AddIOp::create(b, row, arith::ConstantIndexOp::create(b, i));
        lines.push_back({memory, place});
      }
  };
  llvm::SmallSet<int64_t, 4> partsOfX, partsOfPanel;
  for (parts::Product product : parts::products(parts)) {
    if (partsOfPanel.insert(product.w).second)
      add(panel, ofPanel, product.w, kColumnHalves);
    if (partsOfX.insert(product.x).second)
      add(x, ofX, product.x, halves);
  }
  return lines;
}

void transformer::emitMatrixStep(ImplicitLocOpBuilder &b, int64_t parts, int64_t halves, Value x,
                                 MatrixPlace ofX, Value panel, MatrixPlace ofPanel,
                                 BesideProduct beside) {
  ArrayRef<parts::Product> products = parts::products(parts);
  SmallVector<Line> next; // of one part or one half there are about as many lines as loads
  if (parts != parts::kRounded && halves == 2)
    next = linesOf(b, parts, halves, x, ofX, panel, ofPanel);
  int64_t lines = next.size(), all = products.size() * halves * kColumnHalves, done = 0;
  parts::Product before = {-1, -1};
  for (parts::Product product : products) {
    for (int64_t j = 0; j < kColumnHalves && product.w != before.w; ++j)
      cpu::LoadMatrixOp::create(b, kRegisterOfPanel + j, panel,
                                ofPanel(product.w, j, /*isNext=*/false));
    for (int64_t i = 0; i < halves; ++i) {
      if (product.x != before.x)
        cpu::LoadMatrixOp::create(b, kRegisterOfX + i, x, ofX(product.x, i, /*isNext=*/false));
      for (int64_t j = 0; j < kColumnHalves; ++j, ++done) {
        cpu::AddMatrixProductOp::create(b, registerOfSums(i, j), kRegisterOfX + i,
                                        kRegisterOfPanel + j);
        for (int64_t line = lines * done / all; line < lines * (done + 1) / all; ++line)
          next[line].fetch(b);
        if (beside)
          beside(done, all);
      }
    }
    before = product;
  }
}
