//===- EstimateSquares.cpp - how large features are, as far as weights tell ===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/ParameterAnalysis.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_ESTIMATESQUARES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Of each feature, `[K]` f32: the variance (or the mean square, where the mean is
/// not known) and the mean. What is null is 0; if both are, nothing is known.
struct Moments {
  Value variance, mean;
  explicit operator bool() const { return variance || mean; }
};

class Estimator {
public:
  explicit Estimator(ModuleOp module) : module(module) {
    module.walk([&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
  }

  /// Mean squares of the columns of `rows`; null where they are not known.
  Value squares(Value rows) { return squares(rows, momentsOf(rows)); }

private:
  /// Emitted behind `at`, whose moments they may be, or those of something it is made from.
  Value squares(Value at, Moments moments) {
    if (!moments.mean)
      return moments.variance;
    setInsertionPointAfter({at, moments.variance, moments.mean});
    Value ofMean = square(moments.mean);
    return moments.variance ? add(moments.variance, ofMean) : ofMean;
  }

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
        .Case([&](kernel::LayerNormOp op) {
          return rows == op->getResult(0)
                     ? ofNorm(rows, op.getGamma(), op.getBeta())
                     : ofSum(rows, momentsOf(op.getX()), momentsOf(op.getResidual().front()));
        })
        .Case([&](kernel::EmbeddingOp op) { return ofEmbedding(op); })
        .Case([&](linalg::MatmulOp op) { return ofProduct(op); })
        .Case([&](linalg::GenericOp op) { return ofElementwise(op); })
        .Case([&](tensor::ExtractSliceOp op) { return ofColumns(op); })
        .Case([&](tensor::CastOp op) { return momentsOf(op.getSource()); })
        .Case([&](kernel::AttentionOp op) {
          // Values of grouped heads are repeated: not known. Those of other sequences are not
          // either, since a step finds them in a cache; what multiplies the result is packed once
          // for both.
          bool same = rows == op->getResult(0) && op.getNumHeads() == op.getNumKvHeads() &&
                      op.getCuQueries() == op.getCuKeys();
          return same ? momentsOf(op.getV()) : Moments();
        })
        .Case([&](kernel::PagedAttentionOp op) { // earlier values are of the same layer
          auto appended = op.getCache().getDefiningOp<kernel::AppendPagesOp>();
          bool same = appended && appended.getTable() == op.getTable() &&
                      op.getNumHeads() == op.getNumKvHeads();
          return same ? momentsOf(appended.getV()) : Moments();
        })
        .Case([&](kernel::FirstTokenOp op) { return momentsOf(op.getX()); })
        .Case([](cpu::EstimatedOp op) { return Moments{op.getSquares(), {}}; })
        .Case([&](func::CallOp op) { return ofCall(op, cast<OpResult>(rows).getResultNumber()); })
        .Default([](Operation *) { return Moments(); });
  }

  Moments ofNorm(Value rows, Value gamma, Value beta) {
    if (cast<RankedTensorType>(gamma.getType()).getDimSize(0) != widthOf(rows))
      return {}; // of parts: no linear layer reads it
    setInsertionPointAfter({rows, gamma, beta});
    return {square(gamma), beta};
  }

  Moments ofSum(Value at, Moments x, Moments y) {
    if (!x || !y)
      return {};
    setInsertionPointAfter({at, x.variance, y.variance, x.mean, y.mean});
    auto sum = [&](Value u, Value v) { return u && v ? add(u, v) : u ? u : v; };
    return {sum(x.variance, y.variance), sum(x.mean, y.mean)};
  }

  Moments ofProduct(linalg::MatmulOp op) {
    Value x = op.getInputs()[0], weight = op.getInputs()[1];
    if (auto rounded = weight.getDefiningOp<QuantizeWeightOp>())
      weight = rounded.getWeight();
    auto type = dyn_cast<RankedTensorType>(weight.getType());
    Value ofX = type && type.hasStaticShape() ? squares(x) : Value();
    if (!ofX)
      return {};
    setInsertionPointAfter({op->getResult(0), ofX});
    AffineMap map = op.getIndexingMapsArray()[1];
    int64_t outputs = map.getResult(0) == b.getAffineDimExpr(1) ? 0 : 1;
    return {multiply(sample(weight, ofX, outputs), double(widthOf(x))), {}};
  }

  /// Goes through the body, one number of a row.
  Moments ofElementwise(linalg::GenericOp op) {
    Value rows = op->getResult(0);
    if (op->getNumResults() != 1 || op.getNumLoops() != 2 || op.getNumParallelLoops() != 2 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return {};
    DenseMap<Value, Moments> scalars;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      Moments &moments = scalars[op.getMatchingBlockArgument(input)];
      if (map.isIdentity())
        moments = momentsOf(input->get());
      else if (map.getNumResults() == 1 && map.getResult(0) == b.getAffineDimExpr(1))
        moments = {{}, input->get()}; // the same in every row
    }
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (auto sum = dyn_cast<arith::AddFOp>(inner))
        scalars[sum] = ofSum(rows, scalars.lookup(sum.getLhs()), scalars.lookup(sum.getRhs()));
      else if (auto product = dyn_cast<arith::MulFOp>(inner))
        scalars[product] =
            ofGate(rows, scalars.lookup(product.getLhs()), scalars.lookup(product.getRhs()));
      else if (auto activation = dyn_cast<ActivationOp>(inner))
        scalars[activation] =
            ofActivation(rows, activation.getKind(), scalars.lookup(activation.getX()));
    }
    return scalars.lookup(op.getBody()->getTerminator()->getOperand(0));
  }

  /// Of a product of two features: its mean is not known.
  Moments ofGate(Value at, Moments x, Moments y) {
    if (!x || !y)
      return {};
    Value ofX = squares(at, x), ofY = squares(at, y);
    setInsertionPointAfter({at, ofX, ofY});
    return {arith::MulFOp::create(b, ofX, ofY), {}};
  }

  Moments ofColumns(tensor::ExtractSliceOp op) {
    Moments all = op.getSourceType().getRank() == 2 ? momentsOf(op.getSource()) : Moments();
    if (!all || op.getType().getRank() != 2 || op.isDynamicOffset(1) ||
        op.getStaticStrides()[1] != 1)
      return {};
    setInsertionPointAfter({op.getResult(), all.variance, all.mean});
    OpFoldResult first = op.getMixedOffsets()[1], width = op.getMixedSizes()[1];
    OpFoldResult step = b.getIndexAttr(1);
    auto part = [&](Value of) -> Value {
      return of ? tensor::ExtractSliceOp::create(b, of, first, width, step) : Value();
    };
    return {part(all.variance), part(all.mean)};
  }

  /// Of rectifiers about that of max(x, 0) around 0; more than it is where few x are
  /// positive, which is the safe side: what is rare can be large.
  Moments ofActivation(Value at, ActivationKind kind, Moments moments) {
    if (!moments)
      return {};
    Value all = kind == ActivationKind::Tanh ? squares(at, moments) : Value();
    setInsertionPointAfter({at, moments.variance, moments.mean, all});
    if (all)
      return {arith::DivFOp::create(b, all, add(all, constant(all, 1))), {}};
    Value mean = moments.mean
                     ? arith::MaximumFOp::create(b, moments.mean, constant(moments.mean, 0))
                     : Value();
    return {moments.variance ? multiply(moments.variance, 0.5) : Value(), mean};
  }

  /// Over the mean square of their row: rows are scaled, so only ratios matter.
  Moments ofEmbedding(kernel::EmbeddingOp op) {
    Value rows = op->getResult(0);
    if (!op.getNorm().empty())
      return ofNorm(rows, op.getNorm()[0], op.getNorm()[1]);
    if (op.getTables().size() != 1)
      return {};
    setInsertionPointAfter({rows});
    return {sample(op.getTables().front(), {}, 1), {}};
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
    return cpu::SampleSquaresOp::create(b, TypeRange{result}, matrix, factors, empty,
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
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.getWinogradVectors()) // nobody asks
      return;
    Estimator estimator(getOperation());
    SmallVector<linalg::MatmulOp> products;
    getOperation().walk([&](linalg::MatmulOp op) {
      if (!op.getInputs()[1].getDefiningOp<QuantizeWeightOp>())
        products.push_back(op);
    });
    for (linalg::MatmulOp op : products) {
      Value x = op.getInputs()[0], squares = estimator.squares(x);
      if (!squares)
        continue;
      OpBuilder b(op);
      op->setOperand(0,
                     cpu::EstimatedOp::create(b, op.getLoc(), x.getType(), x, squares).getResult());
    }
  }
};

} // namespace
