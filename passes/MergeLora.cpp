//===- MergeLora.cpp - adapters become part of the weights ----------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Lora.h"
#include "passes/ParameterAnalysis.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MERGELORAPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

Value transposed(ImplicitLocOpBuilder &b, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  Value empty = tensor::EmptyOp::create(
      b, ArrayRef<int64_t>{type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  return linalg::TransposeOp::create(b, matrix, empty, ArrayRef<int64_t>{1, 0})->getResult(0);
}

struct MergeLora : transformer::impl::MergeLoraPassBase<MergeLora> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    LoraAttr lora = loraOf(module);
    if (!lora)
      return;
    if (failed(checkReaders(module, lora)))
      return signalPassFailure();
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      for (auto read : llvm::to_vector(function.getOps<GetParameterOp>()))
        if (lora.adapts(read.getName())) {
          WeightReaders readers;
          readers.add(symbols, read);
          if (readers.layout)
            merge(symbols, lora, read, *readers.layout);
        }
    }
    if (failed(checkTargets(module, lora)))
      signalPassFailure();
  }

private:
  static void merge(SymbolTable &symbols, LoraAttr lora, GetParameterOp read, WeightLayout layout) {
    Adapter adapter = declareAdapter(symbols, symbols.lookup<ParameterOp>(read.getName()), layout,
                                     lora.getRank());
    ImplicitLocOpBuilder b(read.getLoc(), read);
    b.setInsertionPointAfter(read);
    auto get = [&](ParameterOp parameter) -> Value {
      return GetParameterOp::create(b, parameter.getType(), parameter.getSymName());
    };
    Value down = get(adapter.down);
    Value up = scaleAdapter(b, b.getLoc(), lora, get(adapter.up));
    Type type = read.getType();
    Value difference =
        layout == WeightLayout::OutIn
            ? LinearOp::create(b, type, up, down, Value(), WeightLayout::InOut)
            : LinearOp::create(b, type, transposed(b, down), up, Value(), WeightLayout::OutIn);
    Value sum = arith::AddFOp::create(b, read, difference);
    read.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }
};

} // namespace
