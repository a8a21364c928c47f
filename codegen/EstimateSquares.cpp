//===- EstimateSquares.cpp - how large features are, as far as weights tell ===//
#include "codegen/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/ParameterAnalysis.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ESTIMATESQUARES
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Of each feature, `[K]` f32: the variance (or the mean square, where the mean is
/// not known) and the mean; a null mean is 0, a null variance is not known.
struct Moments {
  Value variance, mean;
  explicit operator bool() const { return !!variance; }
};

class Estimator {
public:
  explicit Estimator(ModuleOp module) : module(module) {
    module.walk([&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
  }

  /// Mean squares of the columns of `rows`; null where they are not known.
  Value squares(Value rows) {
    Moments moments = momentsOf(rows);
    if (!moments || !moments.mean)
      return moments.variance;
    setInsertionPointAfter({rows, moments.variance, moments.mean});
    return add(moments.variance, square(moments.mean));
  }

private:
  Moments momentsOf(Value rows) {
    auto [it, isNew] = known.try_emplace(rows); // what is under way is not known: recursion ends
    if (!isNew)
      return it->second;
    Moments moments = compute(rows);
    return known[rows] = moments;
  }

  Moments compute(Value rows) {
    if (auto argument = dyn_cast<BlockArgument>(rows))
      return ofArgument(argument);
    return llvm::TypeSwitch<Operation *, Moments>(rows.getDefiningOp())
        .Case([&](LayerNormOp op) { return ofNorm(op); })
        .Case([&](EmbeddingLayerNormOp op) { return ofNorm(op); })
        .Case([&](ResidualLayerNormOp op) {
          return rows == op.getResult() ? ofNorm(op) : ofSum(rows, op.getX(), op.getResidual());
        })
        .Case([&](arith::AddFOp op) { return ofSum(rows, op.getLhs(), op.getRhs()); })
        .Case([&](LinearOp op) { return ofLinear(op); })
        .Case([&](SplitOp op) { return ofSplit(op, cast<OpResult>(rows).getResultNumber()); })
        .Case([&](ActivationOp op) { return ofActivation(op); })
        .Case([&](AttentionOp op) { return momentsOf(op.getV()); })
        .Case([&](FirstTokenOp op) { return momentsOf(op.getX()); })
        .Case([&](EmbeddingOp op) { return ofEmbedding(op); })
        .Case([](kernel::EstimatedOp op) { return Moments{op.getSquares(), {}}; })
        .Case([&](func::CallOp op) { return ofCall(op, cast<OpResult>(rows).getResultNumber()); })
        .Default([](Operation *) { return Moments(); });
  }

  template <typename OpTy> Moments ofNorm(OpTy op) {
    setInsertionPointAfter({op.getResult()});
    return {square(op.getGamma()), op.getBeta()};
  }

  Moments ofSum(Value sum, Value x, Value y) {
    Moments a = momentsOf(x), b = momentsOf(y);
    if (!a || !b)
      return {};
    setInsertionPointAfter({sum, a.variance, b.variance, a.mean, b.mean});
    Value mean = a.mean && b.mean ? add(a.mean, b.mean) : a.mean ? a.mean : b.mean;
    return {add(a.variance, b.variance), mean};
  }

  Moments ofLinear(LinearOp op) {
    Value ofX = squares(op.getX());
    if (!ofX)
      return {};
    setInsertionPointAfter({op.getResult(), ofX});
    int64_t outputs = op.getLayout() == WeightLayout::OutIn ? 0 : 1;
    Value mean = sample(op.getWeight(), ofX, outputs);
    return {multiply(mean, double(widthOf(op.getX()))), op.getBias()};
  }

  Moments ofSplit(SplitOp op, unsigned index) {
    Moments all = momentsOf(op.getX());
    if (!all)
      return {};
    setInsertionPointAfter({op.getResult(index), all.variance, all.mean});
    int64_t column = 0;
    for (Value before : op.getResults().take_front(index))
      column += widthOf(before);
    OpFoldResult first = b.getIndexAttr(column), step = b.getIndexAttr(1);
    OpFoldResult width = b.getIndexAttr(widthOf(op.getResult(index)));
    auto part = [&](Value of) -> Value {
      return of ? tensor::ExtractSliceOp::create(b, of, first, width, step) : Value();
    };
    return {part(all.variance), part(all.mean)};
  }

  /// Of rectifiers about that of max(x, 0) around 0; more than it is where few x are
  /// positive, which is the safe side: what is rare can be large.
  Moments ofActivation(ActivationOp op) {
    Moments moments = momentsOf(op.getX());
    if (!moments)
      return {};
    Value all = op.getKind() == ActivationKind::Tanh ? squares(op.getX()) : Value();
    setInsertionPointAfter({op.getResult(), moments.variance, moments.mean, all});
    if (all)
      return {arith::DivFOp::create(b, all, add(all, constant(all, 1))), {}};
    Value mean = moments.mean
                     ? arith::MaximumFOp::create(b, moments.mean, constant(moments.mean, 0))
                     : Value();
    return {multiply(moments.variance, 0.5), mean};
  }

  /// Over the mean square of their row: rows are scaled, so only ratios matter.
  Moments ofEmbedding(EmbeddingOp op) {
    setInsertionPointAfter({op.getResult()});
    return {sample(op.getTable(), {}, 1), {}};
  }

  /// A new argument of a layer, if every caller knows what to pass.
  Moments ofArgument(BlockArgument argument) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function || isEntry(function))
      return {};
    SmallVector<func::CallOp> &sites = calls[function.getSymName()];
    SmallVector<Value> values;
    for (func::CallOp call : sites) {
      values.push_back(squares(call.getOperand(argument.getArgNumber())));
      if (!values.back())
        return {};
    }
    if (values.empty())
      return {};
    for (auto [call, value] : llvm::zip_equal(sites, values))
      call.getOperandsMutable().append(value);
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, values[0].getType(), {}, argument.getLoc())))
      return {};
    return {function.getArgument(index), {}};
  }

  /// What the callee knows of its result, computed by the caller as well.
  Moments ofCall(func::CallOp call, unsigned index) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
      return {};
    Value root = squares(callee.front().getTerminator()->getOperand(index));
    if (!root)
      return {};
    llvm::SetVector<Operation *> slice;
    collectSlice(root, slice);
    IRMapping mapping;
    mapping.map(callee.getArguments(), call.getOperands());
    setInsertionPointAfter({call.getResult(index)});
    for (Operation *op : slice)
      b.clone(*op, mapping);
    return {mapping.lookup(root), {}};
  }

  /// Behind the last of `values`, of which some may be null; they are of one block.
  void setInsertionPointAfter(std::initializer_list<Value> values) {
    b.setLoc(values.begin()->getLoc());
    Operation *last = nullptr;
    for (Value value : values)
      if (Operation *op = value ? value.getDefiningOp() : nullptr)
        if (!last || last->isBeforeInBlock(op))
          last = op;
    if (last)
      b.setInsertionPointAfter(last);
    else
      b.setInsertionPointToStart(Value(*values.begin()).getParentBlock());
  }
  Value constant(Value like, double value) {
    auto type = cast<RankedTensorType>(like.getType());
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(b.getF32FloatAttr(value))));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value square(Value x) { return arith::MulFOp::create(b, x, x); }
  Value multiply(Value x, double factor) {
    return factor == 1 ? x : Value(arith::MulFOp::create(b, x, constant(x, factor)));
  }
  /// Of a merged weight part by part, so that nobody puts it together for this.
  Value sample(Value matrix, Value factors, int64_t dim) {
    auto concat = matrix.getDefiningOp<tensor::ConcatOp>();
    if (concat && static_cast<int64_t>(concat.getDim()) == dim) {
      SmallVector<Value> parts;
      for (Value part : concat.getInputs())
        parts.push_back(sample(part, factors, dim));
      return tensor::ConcatOp::create(b, 0, parts);
    }
    auto type = cast<RankedTensorType>(matrix.getType());
    auto result = RankedTensorType::get({type.getDimSize(dim)}, type.getElementType());
    Value empty = tensor::EmptyOp::create(b, result.getShape(), result.getElementType());
    return kernel::SampleSquaresOp::create(b, TypeRange{result}, matrix, factors, empty,
                                           b.getI64IntegerAttr(dim))
        .getResult(0);
  }

  ModuleOp module;
  ImplicitLocOpBuilder b{module.getLoc(), module.getContext()};
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  DenseMap<Value, Moments> known;
};

struct EstimateSquaresPass : mlir::transformer::impl::EstimateSquaresBase<EstimateSquaresPass> {
  using Base::Base;
  void runOnOperation() override {
    Estimator estimator(getOperation());
    SmallVector<LinearOp> linears;
    getOperation().walk([&](LinearOp op) { linears.push_back(op); });
    for (LinearOp op : linears) {
      Value squares = estimator.squares(op.getX());
      if (!squares)
        continue;
      OpBuilder b(op);
      op.getXMutable().assign(
          kernel::EstimatedOp::create(b, op.getLoc(), op.getX().getType(), op.getX(), squares)
              .getResult());
    }
  }
};

} // namespace
