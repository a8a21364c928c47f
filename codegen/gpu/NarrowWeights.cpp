//===- NarrowWeights.cpp - weights in 16, 8 and 4 bits --------------------===//
//
// What is stored of a weight [N, K] or [K, N] that is rounded: bf16 and f16 its numbers; int8
// integers, and a scale for each n; int4 integers plus 8, two neighbours along k in a byte, the
// first one in its low half, and a bf16 scale for each 32 of an n.
//
//===----------------------------------------------------------------------===//
#include "codegen/gpu/NarrowCaches.h"
#include "codegen/gpu/NarrowProducts.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/gpu/nests/Kernels.h"
#include "dialect/QuantizeOps.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_NARROWWEIGHTS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// A weight that is rounded, as it is stored.
class NarrowWeight {
public:
  explicit NarrowWeight(QuantizeWeightOp op)
      : op(op), b(op.getLoc(), op), weight(op.getWeight()), format(op.getFormat()),
        isOutIn(op.getLayout() == WeightLayout::OutIn) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
    outputs = shape[isOutIn ? 0 : 1];
    inputs = shape[isOutIn ? 1 : 0];
    group = format == WeightFormat::Int8 ? inputs : weightGroup;
    pack();
  }

  /// A matrix product by it.
  void multiply(linalg::MatmulOp product) {
    AffineExpr n = b.getAffineDimExpr(1), k = b.getAffineDimExpr(2);
    auto map = [&](AffineExpr x, AffineExpr y) {
      return AffineMap::get(3, 0, {x, y}, b.getContext());
    };
    AffineExpr place = k.floorDiv(format == WeightFormat::Int4 ? 2 : 1);
    Factor factor = {{numbers}, {isOutIn ? map(n, place) : map(place, n)}, {}};
    if (scales) {
      factor.operands.push_back(scales);
      factor.maps.push_back(map(n, k.floorDiv(group)));
    }
    factor.number = [&](Scalars &scalars, ValueRange inputs) {
      return number(scalars, inputs[0], scales ? inputs[1] : Value());
    };
    replaceProduct(product, operandOf(product, 0), factor);
  }

private:
  /// The map of (k, n) or (n, k) to an n and a group of k.
  AffineMap groupOf(int64_t size) {
    AffineExpr n = b.getAffineDimExpr(isOutIn ? 0 : 1), k = b.getAffineDimExpr(isOutIn ? 1 : 0);
    return AffineMap::get(2, 0, {n, k.floorDiv(size)}, b.getContext());
  }
  SmallVector<int64_t> shapeOf(int64_t n, int64_t k) {
    return isOutIn ? SmallVector<int64_t>{n, k} : SmallVector<int64_t>{k, n};
  }
  Value element(Scalars &s, Value n, Value k) {
    SmallVector<Value> at = {n, k};
    if (!isOutIn)
      std::swap(at[0], at[1]);
    return tensor::ExtractOp::create(s, weight, at);
  }

  void pack() {
    AffineMap own = b.getMultiDimIdentityMap(2);
    SmallVector<int64_t> shape = shapeOf(outputs, inputs);
    if (FloatType type = floatTypeOf(format, b.getContext())) {
      numbers = elementwise(b, shape, {}, type, weight, own,
                            [&](Scalars &s, ValueRange v) { return s.toHalf(type, v[0]); });
      return;
    }
    bool isInt8 = format == WeightFormat::Int8;
    Type ofScale = isInt8 ? Type(b.getF32Type()) : b.getBF16Type();
    SmallVector<int64_t> scaleShape = {outputs, (inputs + group - 1) / group};
    scales = elementwise(b, scaleShape, {}, ofScale, {}, {},
                         [&](Scalars &s, ValueRange) { return scaleOfGroup(s); });
    if (isInt8) {
      numbers = elementwise(b, shape, {}, b.getI8Type(), {weight, scales}, {own, groupOf(group)},
                            [&](Scalars &s, ValueRange v) {
                              Value q = s.roundInto(s.div(v[0], v[1]), -127, 127);
                              return arith::FPToSIOp::create(s, s.getI8Type(), q).getResult();
                            });
      return;
    }
    numbers = elementwise(b, shapeOf(outputs, (inputs + 1) / 2), {}, b.getI8Type(), scales,
                          groupOf(group / 2),
                          [&](Scalars &s, ValueRange v) { return pairOf(s, s.widen(v[0])); });
  }

  /// Of the n and the group of k that the op is at.
  Value scaleOfGroup(Scalars &s) {
    Value n = linalg::IndexOp::create(s, 0), g = linalg::IndexOp::create(s, 1);
    Value from = arith::MulIOp::create(s, g, s.index(group));
    Value end = arith::AddIOp::create(s, from, s.index(group));
    end = arith::MinSIOp::create(s, end, s.index(inputs));
    auto signedBy = [&](double sign) {
      return [&, sign](Scalars &inner, Value k) {
        return inner.mul(element(inner, n, k), inner.real(sign));
      };
    };
    Value most = largest(s, from, end, signedBy(1)), least = largest(s, from, end, signedBy(-1));
    Value bad = arith::AddFOp::create(s, s.poison(most), s.poison(least));
    if (format == WeightFormat::Int8) {
      Value magnitude = arith::MaximumFOp::create(s, most, least);
      return arith::AddFOp::create(s, s.div(magnitude, s.real(127)), bad);
    }
    Value positive = arith::CmpFOp::create(s, arith::CmpFPredicate::OGE, most, least);
    Value ofLargest = s.select(positive, most, s.mul(least, s.real(-1)));
    return s.toHalf(s.getBF16Type(), arith::AddFOp::create(s, s.div(ofLargest, s.real(-8)), bad));
  }

  /// Two neighbours along k; the second one is 0 behind the last.
  Value pairOf(Scalars &s, Value scale) {
    Value n = linalg::IndexOp::create(s, isOutIn ? 0 : 1);
    Value pair = linalg::IndexOp::create(s, isOutIn ? 1 : 0);
    Value first = arith::MulIOp::create(s, pair, s.index(2));
    Value second = arith::AddIOp::create(s, first, s.index(1));
    auto nibble = [&](Value k) -> Value {
      Value q = s.roundInto(s.div(element(s, n, k), scale), -8, 7);
      Value whole = arith::FPToSIOp::create(s, s.getI32Type(), q);
      return arith::AddIOp::create(s, whole, s.word(8));
    };
    Value last = s.index(inputs - 1);
    Value low = nibble(first), high = nibble(arith::MinSIOp::create(s, second, last));
    Value both = arith::OrIOp::create(s, low, arith::ShLIOp::create(s, high, s.word(4)));
    return arith::TruncIOp::create(s, s.getI8Type(), both);
  }

  /// What the product multiplies by.
  Value number(Scalars &s, Value stored, Value scale) {
    if (!scales)
      return s.widen(stored);
    if (format == WeightFormat::Int8)
      return s.mul(arith::SIToFPOp::create(s, s.getF32Type(), stored), scale);
    Value k = arith::IndexCastOp::create(s, s.getI32Type(), linalg::IndexOp::create(s, 2));
    Value odd = arith::AndIOp::create(s, k, s.word(1));
    Value whole = arith::ExtUIOp::create(s, s.getI32Type(), stored);
    whole = arith::ShRUIOp::create(s, whole, arith::MulIOp::create(s, odd, s.word(4)));
    whole = arith::AndIOp::create(s, whole, s.word(15));
    whole = arith::SubIOp::create(s, whole, s.word(8));
    return s.mul(arith::SIToFPOp::create(s, s.getF32Type(), whole), s.widen(scale));
  }

  QuantizeWeightOp op;
  ImplicitLocOpBuilder b;
  Value weight;
  WeightFormat format;
  bool isOutIn;
  int64_t outputs, inputs, group; // group: inputs that share a scale
  Value numbers, scales;          // scales: null for bf16 and f16
};

/// Whether rows of 16 bits are what attention multiplies.
template <typename Op> bool multipliesHalf(Op op, const GpuTarget *target) {
  SmallVector<Value> multiplied = {op.getQ()};
  if constexpr (std::is_same_v<Op, kernel::PagedAttentionOp>)
    multiplied.push_back(op.getCache());
  else
    multiplied.append({op.getK(), op.getV()});
  if constexpr (std::is_same_v<Op, kernel::AttentionGradientOp>)
    multiplied.push_back(op.getDresult());
  FloatType type = op.getOptions().getRounding();
  return type && simt::hasTensorCoreAttention(op, target) &&
         llvm::all_of(multiplied, [&](Value operand) {
           return getElementTypeOrSelf(sourceOfRows(operand)) == type ||
                  roundingOf(operand) == type;
         });
}

/// Rows as the bf16 or f16 that they become: as such for products and attention, in f32 for the
/// rest.
class HalfRows {
public:
  HalfRows(QuantizeRowsOp op, FloatType type, const GpuTarget *target)
      : op(op), b(op.getLoc(), op), type(type), target(target) {}

  void replace() {
    separateColumns();
    SmallVector<OpOperand *> narrowUses, wideUses;
    for (OpOperand &use : op->getUses())
      (isNarrow(use) ? narrowUses : wideUses).push_back(&use);
    Value rows = op.getX();
    if (Value written = writtenByAttention())
      rows = written;
    else if (!narrowUses.empty())
      rows = rounded(b, rows, type);
    if (!narrowUses.empty()) {
      for (OpOperand *use : narrowUses) {
        use->set(rows);
        if (auto slice = dyn_cast<tensor::ExtractSliceOp>(use->getOwner()))
          slice.getResult().setType(slice.getType().clone(type));
      }
    }
    if (!wideUses.empty()) {
      rows = widened(rows);
      for (OpOperand *use : wideUses)
        use->set(rows);
    }
    op.erase();
  }

private:
  bool isNarrow(OpOperand &use) {
    Operation *reader = use.getOwner();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(reader))
      return llvm::all_of(slice->getUses(), [&](OpOperand &each) { return isNarrow(each); });
    if (auto attention = dyn_cast<kernel::AttentionOp>(reader))
      return multipliesHalf(attention, target);
    if (auto attention = dyn_cast<kernel::PagedAttentionOp>(reader))
      return use.get() == attention.getQ() && multipliesHalf(attention, target);
    if (auto gradient = dyn_cast<kernel::AttentionGradientOp>(reader))
      return use.get() != gradient.getResult() && multipliesHalf(gradient, target);
    if (auto append = dyn_cast<kernel::AppendPagesOp>(reader))
      return getElementTypeOrSelf(append.getOuts()[0]) == type;
    return isa<linalg::MatmulOp, tensor::DimOp, kernel::SumRowsOp>(reader);
  }

  /// Rows that attention alone made and nothing else reads, on a target: it writes them so. Null:
  /// they are others.
  Value writtenByAttention() {
    Value written = writtenBy<kernel::AttentionOp>();
    return written ? written : writtenBy<kernel::PagedAttentionOp>();
  }

  template <typename Op> Value writtenBy() {
    Value x = op.getX();
    auto attention = x.getDefiningOp<Op>();
    auto isOther = [&](Operation *user) { return user != op && !isa<tensor::DimOp>(user); };
    if (!attention || !target || x != attention->getResult(0) ||
        !multipliesHalf(attention, target) || llvm::any_of(x.getUsers(), isOther))
      return Value();
    OpBuilder at(attention);
    auto written = cast<RankedTensorType>(x.getType()).clone(type);
    OpOperand &out = attention.getOutsMutable()[0];
    SmallVector<Value> sizes;
    if (written.isDynamicDim(0))
      sizes.push_back(tensor::DimOp::create(at, attention.getLoc(), out.get(), 0));
    out.set(tensor::EmptyOp::create(at, attention.getLoc(), written, sizes));
    x.setType(written);
    return x;
  }

  /// Columns that are read as both become two.
  void separateColumns() {
    SmallVector<tensor::ExtractSliceOp> slices;
    for (Operation *user : op->getUsers())
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user))
        slices.push_back(slice);
    for (tensor::ExtractSliceOp slice : slices) {
      OpBuilder at(slice);
      Value other = at.clone(*slice.getOperation())->getResult(0);
      slice.getResult().replaceUsesWithIf(other, [&](OpOperand &use) { return isNarrow(use); });
      for (Value each : SmallVector<Value>{slice.getResult(), other})
        if (each.use_empty())
          each.getDefiningOp()->erase();
    }
  }

  /// Rows that may be rounded by now, as the f32 that they stand for.
  Value widened(Value rows) {
    int64_t width = cast<RankedTensorType>(rows.getType()).getDimSize(1);
    OpFoldResult count = tensor::getMixedSize(b, b.getLoc(), op.getX(), 0);
    Value out = tensor::EmptyOp::create(b, {count, b.getIndexAttr(width)}, b.getF32Type());
    return elementwise(b, out, rows, b.getMultiDimIdentityMap(2), [&](Scalars &s, ValueRange v) {
      return s.widen(v[0].getType() == type ? v[0] : s.toHalf(type, v[0]));
    });
  }

  QuantizeRowsOp op;
  ImplicitLocOpBuilder b;
  FloatType type;
  const GpuTarget *target;
};

/// Rows as what their integers and scales stand for.
void roundToInt8(QuantizeRowsOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value x = op.getX();
  auto type = cast<RankedTensorType>(x.getType());
  int64_t width = type.getDimSize(1);
  SmallVector<Value> sizes;
  if (type.isDynamicDim(0))
    sizes.push_back(tensor::DimOp::create(b, x, 0));
  Value rounded = elementwise(
      b, type.getShape(), sizes, type.getElementType(), x, b.getMultiDimIdentityMap(2),
      [&](Scalars &s, ValueRange v) -> Value {
        Value t = linalg::IndexOp::create(s, 0), k = linalg::IndexOp::create(s, 1);
        Value inGroup = arith::RemUIOp::create(s, k, s.index(weightGroup));
        Value from = arith::SubIOp::create(s, k, inGroup);
        Value end = arith::AddIOp::create(s, from, s.index(weightGroup));
        end = arith::MinSIOp::create(s, end, s.index(width));
        Value most = largest(s, from, end, [&](Scalars &inner, Value i) {
          return inner.abs(tensor::ExtractOp::create(inner, x, ValueRange{t, i}));
        });
        Value scale = arith::AddFOp::create(s, s.div(most, s.real(127)), s.poison(most));
        Value inverse = s.div(s.real(127), most);
        Value q = math::RoundEvenOp::create(s, s.mul(v[0], inverse));
        Value limit = s.real(std::numeric_limits<float>::infinity());
        Value none = arith::CmpFOp::create(s, arith::CmpFPredicate::OEQ, inverse, limit);
        return s.mul(s.select(none, s.real(0), q), scale);
      });
  op.replaceAllUsesWith(rounded);
  op.erase();
}

/// What an op rounds to TF32; null: it is no such.
Value tf32Source(Operation *op) {
  if (auto rows = dyn_cast_or_null<QuantizeRowsOp>(op))
    return rows.getFormat() == WeightFormat::Tf32 ? rows.getX() : Value();
  auto weight = dyn_cast_or_null<QuantizeWeightOp>(op);
  return weight && weight.getFormat() == WeightFormat::Tf32 ? weight.getWeight() : Value();
}

/// Products round what they read; others read what has been rounded.
void roundToTf32(ModuleOp module, bool isGpu) {
  SmallVector<Operation *> roundings;
  module->walk([&](Operation *op) {
    if (tf32Source(op))
      roundings.push_back(op);
  });
  auto factorOf = [&](linalg::MatmulOp product, unsigned i) {
    Factor factor = operandOf(product, i);
    if (Value source = tf32Source(product.getInputs()[i].getDefiningOp())) {
      factor.operands = {source};
      factor.number = [=](Scalars &b, ValueRange inputs) { return b.toTf32(inputs[0], isGpu); };
    }
    return factor;
  };
  for (Operation *op : roundings) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (auto product = dyn_cast<linalg::MatmulOp>(user))
        replaceProduct(product, factorOf(product, 0), factorOf(product, 1));
    Value x = tf32Source(op);
    if (!op->use_empty()) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      auto type = cast<RankedTensorType>(x.getType());
      SmallVector<Value> sizes;
      if (type.isDynamicDim(0))
        sizes.push_back(tensor::DimOp::create(b, x, 0));
      Value rounded = elementwise(b, type.getShape(), sizes, type.getElementType(), x,
                                  b.getMultiDimIdentityMap(2),
                                  [&](Scalars &s, ValueRange v) { return s.toTf32(v[0], isGpu); });
      op->replaceAllUsesWith(ValueRange{rounded});
    }
    op->erase();
  }
}

struct NarrowWeightsPass : mlir::transformer::impl::NarrowWeightsBase<NarrowWeightsPass> {
  using Base::Base;
  void runOnOperation() override {
    const GpuTarget *target = gpuTargetOf(getOperation());
    narrowCaches(getOperation());
    roundToTf32(getOperation(), /*isGpu=*/target);
    SmallVector<QuantizeRowsOp> rows;
    getOperation()->walk([&](QuantizeRowsOp op) { rows.push_back(op); });
    for (QuantizeRowsOp op : rows) {
      if (FloatType type = floatTypeOf(op.getFormat(), &getContext()))
        HalfRows(op, type, target).replace();
      else
        roundToInt8(op);
    }
    SmallVector<QuantizeWeightOp> weights;
    getOperation()->walk([&](QuantizeWeightOp op) { weights.push_back(op); });
    for (QuantizeWeightOp op : weights) {
      for (OpOperand &use : op->getUses())
        if (auto product = dyn_cast<linalg::MatmulOp>(use.getOwner());
            !product || use.getOperandNumber() != 1) {
          use.getOwner()->emitOpError("reads a narrow weight; expected a matrix product to do so");
          return signalPassFailure();
        }
      NarrowWeight weight(op);
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        weight.multiply(cast<linalg::MatmulOp>(user));
      op.erase();
    }
    // What is left reads rows of 16 bits as if they were f32.
    getOperation()->walk([](linalg::MatmulOp product) {
      auto isHalf = [](Value v) { return kernel::isHalf(getElementTypeOrSelf(v)); };
      if (llvm::any_of(product.getInputs(), isHalf))
        replaceProduct(product, operandOf(product, 0), operandOf(product, 1));
    });
  }
};

} // namespace
