//===- ConvertToLinalg.cpp - the transformer dialect to linalg ------------===//
#include "codegen/Passes.h"
#include "codegen/analysis/Flops.h"
#include "codegen/linalg/Patterns.h"
#include "dialect/GradientOps.h"
#include "dialect/QuantizeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_CONVERTTRANSFORMERTOLINALG
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

Value mlir::transformer::emptyRows(OpBuilder &b, Location loc, Value result, Value like) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> rows;
  if (type.getRank() && type.isDynamicDim(0))
    rows.push_back(tensor::DimOp::create(b, loc, like, 0));
  return tensor::EmptyOp::create(b, loc, type, rows);
}

namespace {

struct SequenceConverter : TypeConverter {
  SequenceConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](SequencesType type, SmallVectorImpl<Type> &types) {
      llvm::append_range(types, SequenceValues::types(type.getContext()));
      return success();
    });
  }
};

/// The attributes of each argument where it will stand: upstream's conversion of
/// a signature leaves them at their indexes.
SmallVector<DictionaryAttr> attributesBehind(func::FuncOp function, TypeConverter &converter) {
  SmallVector<DictionaryAttr> result;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    SmallVector<Type> types;
    (void)converter.convertType(type, types);
    result.push_back(function.getArgAttrDict(i));
    result.append(types.size() - 1, DictionaryAttr());
  }
  return result;
}

/// Upstream's pattern would lose the call's attributes.
struct ConvertCall : OpConversionPattern<func::CallOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(func::CallOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (ValueRange values : adaptor.getOperands())
      llvm::append_range(operands, values);
    auto call =
        func::CallOp::create(rewriter, op.getLoc(), op.getCallee(), op.getResultTypes(), operands);
    call->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, call);
    return success();
  }
};

/// Ops of the dialect that stay: what weights are, and the function of an
/// activation, or its derivative, inside of an elementwise op.
bool staysBehind(Operation *op) {
  if (isa<ActivationOp, ActivationGradientOp>(op))
    return !isa<TensorType>(op->getResult(0).getType());
  return isa<ParameterOp, PreparedOp, GetParameterOp, SinusoidalTableOp, QuantizeWeightOp,
             QuantizeRowsOp>(op);
}

bool isElementwiseOnTensors(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumOperands() &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

struct ConvertTransformerToLinalgPass
    : mlir::transformer::impl::ConvertTransformerToLinalgBase<ConvertTransformerToLinalgPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (llvm::any_of(function.getResultTypes(), llvm::IsaPred<SequencesType>)) {
        function.emitOpError("returns sequences; expected results of tensors only");
        return signalPassFailure();
      }
    countFlops(module);
    SequenceConverter converter;
    RewritePatternSet patterns(&getContext());
    populateSequencePatterns(converter, patterns);
    populateEmbeddingPatterns(converter, patterns);
    populateWindowPatterns(converter, patterns);
    populateLinearPatterns(converter, patterns);
    populateNormPatterns(converter, patterns);
    populateAttentionPatterns(converter, patterns);
    populateGradientPatterns(converter, patterns);
    populateOptimizerPatterns(converter, patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    patterns.add<ConvertCall>(converter, &getContext());

    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      if (auto function = dyn_cast<func::FuncOp>(op))
        return converter.isSignatureLegal(function.getFunctionType());
      if (isa<TransformerDialect>(op->getDialect()))
        return staysBehind(op);
      if (isa<tensor::SplatOp>(op) || isConcatOfRows(op))
        return false;
      return !isElementwiseOnTensors(op) && converter.isLegal(op);
    });
    DenseMap<StringRef, SmallVector<DictionaryAttr>> attributes;
    for (auto function : module.getOps<func::FuncOp>())
      attributes[function.getName()] = attributesBehind(function, converter);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      function.setAllArgAttrs(attributes[function.getName()]);
  }
};

} // namespace
