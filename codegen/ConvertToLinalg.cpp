//===- ConvertToLinalg.cpp - the transformer dialect to linalg ------------===//
#include "codegen/Flops.h"
#include "codegen/Linear.h"
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/memory/DestinationPassing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_CONVERTTRANSFORMERTOLINALG
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// What `!transformer.sequences` becomes.
struct SequenceBuffers {
  Value cu;     // tensor<?xindex>, batch + 1 offsets
  Value rows;   // tensor<?xindex>, the place of every packed row
  Value length; // index, of the padded rows
};

/// Rewrites one function.
class FunctionConverter {
public:
  FunctionConverter(func::FuncOp function, int64_t panelColumns, int64_t winogradLeastK)
      : function(function), panelColumns(panelColumns), winogradLeastK(winogradLeastK),
        b(function.getLoc(), OpBuilder(function.getContext())) {}

  LogicalResult run() {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError("has control flow; expected one block");
    if (llvm::any_of(function.getResultTypes(), llvm::IsaPred<SequencesType>))
      return function.emitOpError("returns sequences; expected results of tensors only");
    if (failed(convertSignature()))
      return failure();
    Block &block = function.front();
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      b.setLoc(op->getLoc());
      if (failed(convert(op)))
        return failure();
    }
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && !isa<func::ReturnOp>(op) && dead.contains(op))
        op->erase();
    for (BlockArgument argument : llvm::reverse(block.getArguments()))
      if (isa<SequencesType>(argument.getType())) {
        if (!argument.use_empty())
          return function.emitOpError("sequences are still used after conversion");
        block.eraseArgument(argument.getArgNumber());
      }
    return success();
  }

private:
  /// Sequences arguments become two tensors and an index (new block arguments, the
  /// old one is erased at the end).
  LogicalResult convertSignature() {
    Block &block = function.front();
    auto indices = RankedTensorType::get({ShapedType::kDynamic}, b.getIndexType());
    SmallVector<Type> inputs;
    SmallVector<DictionaryAttr> attributes;
    unsigned position = 0;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      if (!isa<SequencesType>(type)) {
        inputs.push_back(type);
        attributes.push_back(function.getArgAttrDict(i));
        ++position;
        continue;
      }
      inputs.append({indices, indices, b.getIndexType()});
      attributes.append(3, DictionaryAttr());
      Value old = block.getArgument(position);
      Value cu = block.insertArgument(position++, indices, function.getLoc());
      Value rows = block.insertArgument(position++, indices, function.getLoc());
      Value length = block.insertArgument(position++, b.getIndexType(), function.getLoc());
      sequences[old] = {cu, rows, length};
      ++position; // the old argument, still there
    }
    SmallVector<Type> results(function.getResultTypes());
    function.setType(b.getFunctionType(inputs, results));
    function.setAllArgAttrs(attributes);
    return success();
  }

  LogicalResult convert(Operation *op) {
    if (absorbed.contains(op)) {
      dead.insert(op);
      return success();
    }
    if (LinearChain chain = LinearChain::startingAt(op, panelColumns)) {
      if (pending.contains(chain.tail())) // the sum of two linears: an epilogue of the first
        chain.add = {};
      Operation *tail = chain.tail();
      if (tail != op) { // emitted where the last op of the chain stands
        pending[tail] = chain;
        dead.insert(op);
        for (Operation *link : chain.links())
          if (link != tail)
            absorbed.insert(link);
        return success();
      }
      return finish(op, {linear(chain)});
    }
    if (auto it = pending.find(op); it != pending.end())
      return finish(op, {linear(it->second)});
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<PackTokensOp, UnpackTokensOp, FirstTokenOp, EmbeddingOp, EmbeddingLayerNormOp,
              LayerNormOp, ResidualLayerNormOp, SplitOp, AttentionOp, ActivationOp,
              kernel::EstimatedOp, func::CallOp>([&](auto typed) { return lower(typed); })
        .Default([&](Operation *other) { return keep(other); });
  }

  Value linear(LinearChain chain) {
    Value x = chain.linear.getX();
    bool winograd = winogradLeastK && widthOf(x) >= winogradLeastK;
    return emitLinear(b, chain, panelColumns, winograd, squares.lookup(x));
  }

  LogicalResult lower(kernel::EstimatedOp op) {
    squares[op.getX()] = op.getSquares();
    return finish(op, {op.getX()});
  }

  /// Upstream ops, parameters and constant tables: as they are.
  LogicalResult keep(Operation *op) {
    if (isa<TransformerDialect>(op->getDialect()) && !isa<GetParameterOp, SinusoidalTableOp>(op))
      return op->emitOpError(
          "cannot be lowered to linalg; run transformer-expand-composites first");
    if (isa<func::ReturnOp>(op))
      return success();
    for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      if (isa<SequencesType>(type))
        return op->emitOpError("takes or makes sequences; only the transformer dialect's ops can");
    return success();
  }

  /// The values may have dynamic sizes where the op's results have static ones.
  LogicalResult finish(Operation *op, ValueRange values) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
      Type type = result.getType();
      result.replaceAllUsesWith(
          value.getType() == type ? value : tensor::CastOp::create(b, type, value).getResult());
    }
    op->dropAllReferences(); // no reader any more
    dead.insert(op);
    return success();
  }

  Value rowsOf(Value x) { return tensor::DimOp::create(b, x, 0); }
  /// Of the type of `result`, with as many rows as `like`.
  Value emptyFor(Value result, Value like) {
    auto type = cast<RankedTensorType>(result.getType());
    return tensor::EmptyOp::create(b, type,
                                   type.isDynamicDim(0) ? ValueRange{rowsOf(like)} : ValueRange{});
  }
  Value batchOf(Value cu) {
    return arith::SubIOp::create(b, tensor::DimOp::create(b, cu, 0),
                                 arith::ConstantIndexOp::create(b, 1));
  }

  LogicalResult lower(PackTokensOp op) {
    auto indices = RankedTensorType::get({ShapedType::kDynamic}, b.getIndexType());
    auto ids = RankedTensorType::get({ShapedType::kDynamic}, b.getI64Type());
    Value mask = op.getMask();
    Value count = kernel::CountTokensOp::create(b, b.getIndexType(), mask);
    Value offsets = arith::AddIOp::create(b, tensor::DimOp::create(b, mask, 0),
                                          arith::ConstantIndexOp::create(b, 1));
    SmallVector<Value> outs = {tensor::EmptyOp::create(b, indices, ValueRange{offsets}),
                               tensor::EmptyOp::create(b, indices, ValueRange{count})};
    SmallVector<Type> types = {indices, indices};
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      outs.push_back(tensor::EmptyOp::create(b, ids, ValueRange{count}));
      types.push_back(ids);
    }
    auto packed = kernel::PackTokensOp::create(b, types, mask, op.getInputs(), outs);
    sequences[op.getSequences()] = {packed.getResult(0), packed.getResult(1),
                                    tensor::DimOp::create(b, mask, 1)};
    for (auto [i, result] : llvm::enumerate(op.getPacked()))
      result.replaceAllUsesWith(packed.getResult(i + 2));
    dead.insert(op);
    return success();
  }

  LogicalResult lower(UnpackTokensOp op) {
    SequenceBuffers of = sequences.at(op.getSequences());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value padded = tensor::EmptyOp::create(b, type, ValueRange{batchOf(of.cu), of.length});
    auto unpacked = kernel::UnpackTokensOp::create(b, TypeRange{type}, op.getX(), of.rows,
                                                   ValueRange{padded}, op.getColumnAttr());
    return finish(op, unpacked.getResults());
  }

  LogicalResult lower(FirstTokenOp op) {
    Value cu = sequences.at(op.getSequences()).cu;
    Value out = tensor::EmptyOp::create(b, op.getResult().getType(), ValueRange{batchOf(cu)});
    auto first =
        kernel::FirstTokenOp::create(b, TypeRange{out.getType()}, op.getX(), cu, ValueRange{out});
    return finish(op, first.getResults());
  }

  Value embed(Value result, ValueRange ids, ValueRange tables, ValueRange norm,
              ArrayRef<double> scales, NormAttr formula) {
    Value out = emptyFor(result, ids.front());
    return kernel::EmbeddingOp::create(b, TypeRange{out.getType()}, ids, tables, norm,
                                       ValueRange{out}, formula, b.getDenseF64ArrayAttr(scales))
        .getResult(0);
  }

  LogicalResult lower(EmbeddingOp op) {
    return finish(op, {embed(op.getResult(), op.getIds(), op.getTable(), {},
                             {op.getScale().convertToDouble()}, NormAttr())});
  }

  LogicalResult lower(EmbeddingLayerNormOp op) {
    SmallVector<double> scales(op.getIds().size(), 1.0);
    return finish(op, {embed(op.getResult(), op.getIds(), op.getTables(),
                             {op.getGamma(), op.getBeta()}, scales, op.getNorm())});
  }

  /// Whether `x` is all of what an op here writes to memory of its own.
  static bool isOwnBuffer(Value x) {
    Operation *op = x.getDefiningOp();
    while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      op = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<DestinationStyleOpInterface>(op);
  }

  template <typename OpTy> SmallVector<Value> norm(OpTy op, ValueRange residual, unsigned results) {
    SmallVector<Value> outs;
    for (unsigned i = 0; i < results; ++i)
      outs.push_back(emptyFor(op.getX(), op.getX()));
    // Rows are normalised where they stand, if nobody else reads them.
    if (isOwnBuffer(op.getX()) && hasOneReader(op.getX()))
      outs.back() = op.getX();
    SmallVector<Type> types(results, op.getX().getType());
    auto normed = kernel::LayerNormOp::create(b, types, op.getX(), residual, op.getGamma(),
                                              op.getBeta(), outs, op.getNorm(), UnitAttr());
    return SmallVector<Value>(normed.getResults());
  }
  LogicalResult lower(LayerNormOp op) { return finish(op, norm(op, {}, 1)); }
  LogicalResult lower(ResidualLayerNormOp op) {
    return finish(op, norm(op, {op.getResidual()}, op.getNumResults()));
  }

  LogicalResult lower(SplitOp op) {
    SmallVector<Value> slices;
    int64_t column = 0;
    OpFoldResult rows = rowsOf(op.getX());
    for (Value result : op.getResults()) {
      int64_t width = widthOf(result);
      slices.push_back(tensor::ExtractSliceOp::create(
          b, op.getX(), ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(column)},
          ArrayRef<OpFoldResult>{rows, b.getIndexAttr(width)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)}));
      column += width;
    }
    return finish(op, slices);
  }

  LogicalResult lower(AttentionOp op) {
    if (op.getPositionBias() || op.getLogSumExp())
      return op->emitOpError("has a bias or a log_sum_exp, which cannot be lowered yet");
    Value cuQ = sequences.at(op.getQuerySequences()).cu;
    Value cuK = sequences.at(op.getKeySequences()).cu;
    Value out = emptyFor(op.getResult(), op.getQ());
    SmallVector<Value> factor;
    if (op.getScaleFactor())
      factor.push_back(op.getScaleFactor());
    auto attention = kernel::AttentionOp::create(
        b, TypeRange{out.getType()}, op.getQ(), op.getK(), op.getV(), cuQ, cuK, factor,
        /*position_bias=*/Value(), ValueRange{out}, op.getNumHeadsAttr(),
        b.getI64IntegerAttr(op.kvHeads()), op.getScaleAttr(), op.getOptions());
    return finish(op, {attention.getResult(0)});
  }

  LogicalResult lower(ActivationOp op) {
    return finish(op, {emitActivationGeneric(b, op.getKind(), op.getX())});
  }

  LogicalResult lower(func::CallOp op) {
    auto callee = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(op.getCallee());
    if (!callee || callee.isExternal())
      return op.emitOpError("calls a function that has no body");
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      if (isa<SequencesType>(operand.getType())) {
        SequenceBuffers buffers = sequences.at(operand);
        operands.append({buffers.cu, buffers.rows, buffers.length});
      } else {
        operands.push_back(operand);
      }
    }
    auto call = func::CallOp::create(b, op.getCallee(), op.getResultTypes(), operands);
    call->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return finish(op, call.getResults());
  }

  func::FuncOp function;
  int64_t panelColumns;
  int64_t winogradLeastK; // 0: none
  ImplicitLocOpBuilder b;
  DenseMap<Value, SequenceBuffers> sequences;
  DenseMap<Value, Value> squares; // of rows, estimated
  llvm::SmallPtrSet<Operation *, 8> dead, absorbed;
  DenseMap<Operation *, LinearChain> pending;
};

struct ConvertTransformerToLinalgPass
    : mlir::transformer::impl::ConvertTransformerToLinalgBase<ConvertTransformerToLinalgPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    countFlops(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(FunctionConverter(function, panelColumns, winogradLeastK).run()))
        return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return signalPassFailure();
    WalkResult left = module.walk([](Operation *op) {
      if (isa<TransformerDialect>(op->getDialect()) &&
          !isa<GetParameterOp, ParameterOp, PreparedOp, SinusoidalTableOp>(op)) {
        op->emitOpError("is left after the lowering to linalg");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
