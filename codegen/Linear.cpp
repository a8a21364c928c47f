//===- Linear.cpp - a linear layer and what follows it, as linalg ---------===//
#include "codegen/Linear.h"
#include "codegen/Winograd.h"
#include "codegen/cpu/nests/VectorMath.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

LinearChain LinearChain::startingAt(Operation *op, int64_t panelColumns) {
  LinearChain chain;
  chain.linear = dyn_cast<LinearOp>(op);
  if (!chain.linear)
    return chain;
  Value value = chain.linear.getResult();
  auto onlyUser = [&]() -> Operation * {
    if (!value.hasOneUse())
      return nullptr;
    Operation *user = *value.getUsers().begin();
    return user->getBlock() == op->getBlock() ? user : nullptr;
  };
  if (auto activation = dyn_cast_or_null<ActivationOp>(onlyUser())) {
    chain.activation = activation;
    value = activation.getResult();
  }
  // A residual is read in panels, so its width must be a whole number of them.
  if (widthOf(value) % panelColumns == 0)
    if (auto add = dyn_cast_or_null<arith::AddFOp>(onlyUser()); add && add.getLhs() != add.getRhs())
      chain.add = add;
  return chain;
}

Operation *LinearChain::tail() const { return links().back(); }

SmallVector<Operation *> LinearChain::links() const {
  SmallVector<Operation *> ops = {linear};
  if (activation)
    ops.push_back(activation);
  if (add)
    ops.push_back(add);
  return ops;
}

namespace {

/// `value` with zeros after its last element along `dim`, up to `size`.
Value padTo(ImplicitLocOpBuilder &b, Value value, unsigned dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(dim) == size)
    return value;
  SmallVector<OpFoldResult> low(type.getRank(), b.getIndexAttr(0)), high = low;
  high[dim] = b.getIndexAttr(size - type.getDimSize(dim));
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return tensor::PadOp::create(b, RankedTensorType::get(shape, type.getElementType()), value, low,
                               high, zero);
}

/// The weight as panels `[N / NR][K][NR]`, the last one padded with zeros.
Value packWeight(ImplicitLocOpBuilder &b, LinearOp op, int64_t nr) {
  auto type = cast<RankedTensorType>(op.getWeight().getType());
  bool outIn = op.getLayout() == WeightLayout::OutIn;
  unsigned rows = outIn ? 0 : 1; // the dimension of N
  int64_t k = type.getDimSize(1 - rows), panels = llvm::divideCeil(type.getDimSize(rows), nr);
  SmallVector<int64_t> outer = outIn ? SmallVector<int64_t>{0, 1} : SmallVector<int64_t>{1, 0};
  Value out = tensor::EmptyOp::create(b, ArrayRef<int64_t>{panels, k, nr}, b.getF32Type());
  return linalg::PackOp::create(b, padTo(b, op.getWeight(), rows, panels * nr), out,
                                ArrayRef<int64_t>{rows}, ArrayRef<OpFoldResult>{b.getIndexAttr(nr)},
                                std::nullopt, outer)
      .getResult();
}

/// A bias as `[N / NR][NR]`, padded with zeros.
Value packBias(ImplicitLocOpBuilder &b, Value bias, int64_t nr) {
  int64_t panels = llvm::divideCeil(widthOf(bias), nr);
  return tensor::ExpandShapeOp::create(b, RankedTensorType::get({panels, nr}, b.getF32Type()),
                                       padTo(b, bias, 0, panels * nr),
                                       ArrayRef<ReassociationIndices>{{0, 1}});
}

/// What a contraction multiplies: x `[T, K]` and panels `[P, K, NR]`, or for
/// Winograd's inner product x `[T, S, 6]`, panels `[P, S, 6, NR]` and the inverse
/// scales of the rows, `[T, NR]`.
struct Factors {
  Value x, panels, rowScales;
};

/// One elementwise op over the panels: scales, bias, activation, residual.
linalg::GenericOp emitEpilogue(ImplicitLocOpBuilder &b, LinearChain chain, const Factors &factors,
                               Value sums, Value rows) {
  LinearOp op = chain.linear;
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t panels = type.getDimSize(1), nr = type.getDimSize(2);
  AffineMap all = b.getMultiDimIdentityMap(3), columns = all.dropResult(0);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (factors.rowScales) {
    inputs = {factors.rowScales, factors.panels};
    AffineExpr step0 = b.getAffineConstantExpr(0), p = columns.getResult(0);
    AffineExpr place = b.getAffineConstantExpr(winograd::kInverseScale), j = columns.getResult(1);
    AffineMap inStep0 = AffineMap::get(3, 0, {p, step0, place, j}, b.getContext());
    maps = {all.dropResult(1), inStep0};
  }
  if (op.getBias()) {
    inputs.push_back(packBias(b, op.getBias(), nr));
    maps.push_back(columns);
  }
  if (chain.add) {
    Value last = chain.activation ? chain.activation.getResult() : op.getResult();
    Value residual = chain.add.getLhs() == last ? chain.add.getRhs() : chain.add.getLhs();
    inputs.push_back(tensor::ExpandShapeOp::create(
        b, type, residual, ArrayRef<ReassociationIndices>{{0}, {1, 2}},
        SmallVector<OpFoldResult>{rows, b.getIndexAttr(panels), b.getIndexAttr(nr)}));
    maps.push_back(all);
  }
  maps.push_back(all);
  return linalg::GenericOp::create(
      b, type, inputs, ValueRange{sums}, maps,
      SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
      [&](OpBuilder &nested, Location loc, ValueRange v) {
        ImplicitLocOpBuilder body(loc, nested);
        Value y = v.back();
        unsigned next = 0;
        if (factors.rowScales) { // powers of two
          Value scale = arith::MulFOp::create(body, v[0], v[1]);
          y = arith::MulFOp::create(body, y, scale);
          next = 2;
        }
        if (op.getBias())
          y = arith::AddFOp::create(body, y, v[next++]);
        // An op that does nothing would be folded away, and with it the root of the tiling.
        if (next == 0)
          y = arith::AddFOp::create(body, y,
                                    arith::ConstantOp::create(body, body.getF32FloatAttr(0)));
        if (chain.activation)
          y = emitActivation(body, chain.activation.getKind(), y);
        if (chain.add)
          y = arith::AddFOp::create(body, y, v[next++]);
        linalg::YieldOp::create(body, y);
      });
}

/// The amount is the number of rows.
DictionaryAttr linearWork(LinearChain chain, int64_t k, int64_t n) {
  std::string columns = std::to_string(k), results = std::to_string(n);
  Work work{"linear " + columns + "x" + results, "K=" + columns + " N=" + results, {}};
  if (chain.activation)
    work.label += " " + stringifyActivationKind(chain.activation.getKind()).str();
  constexpr int64_t f32 = 4; // bytes
  Amount rows{chain.linear->hasAttr(kPerSequenceAttr) ? "sequences" : "tokens", 2 * k * n,
              f32 * (k + (chain.add ? 2 : 1) * n)};
  work.amounts.push_back(rows);
  work.fixedBytes = f32 * (k + (chain.linear.getBias() ? 1 : 0)) * n;
  work.layer = layerOfParameter(chain.linear.getWeight());
  return workAttr(chain.linear.getContext(), work);
}

/// The weight in panels and, for Winograd's inner product, both sides scaled.
Factors emitFactors(ImplicitLocOpBuilder &b, LinearOp op, int64_t nr, bool winograd,
                    Value squares) {
  Value x = op.getX(), panels = packWeight(b, op, nr);
  if (!winograd)
    return {x, panels, {}};
  auto type = cast<RankedTensorType>(panels.getType());
  int64_t steps = winograd::steps(type.getDimSize(1));
  auto empty = [&](ArrayRef<int64_t> shape, ValueRange sizes) -> Value {
    return tensor::EmptyOp::create(b, shape, b.getF32Type(), sizes);
  };
  int64_t k = type.getDimSize(1);
  auto ofFeatures =
      kernel::WinogradScalesOp::create(b, TypeRange{RankedTensorType::get({k}, b.getF32Type())},
                                       op.getWeight(), squares, empty({k}, {}), op.getLayout());
  Value scales = ofFeatures.getResult(0);
  Value rows = tensor::DimOp::create(b, x, 0);
  Value scaled = empty({ShapedType::kDynamic, steps, winograd::kStep}, rows);
  Value inverses = empty({ShapedType::kDynamic, nr}, rows);
  auto ofRows = kernel::WinogradRowsOp::create(b, TypeRange{scaled.getType(), inverses.getType()},
                                               x, scales, ValueRange{scaled, inverses});
  Value out = empty({type.getDimSize(0), steps, winograd::kStep, nr}, {});
  auto ofPanels =
      kernel::WinogradPanelsOp::create(b, TypeRange{out.getType()}, panels, scales, out);
  return {ofRows.getResult(0), ofPanels.getResult(0), ofRows.getResult(1)};
}

/// The dimensions of a contraction are m, p, j and k, or its steps.
linalg::GenericOp
createContraction(ImplicitLocOpBuilder &b, ValueRange inputs, ArrayRef<AffineMap> inputMaps,
                  Value sums,
                  function_ref<Value(ImplicitLocOpBuilder &, ValueRange inputs, Value sum)> body) {
  using utils::IteratorType;
  SmallVector<IteratorType> loops(3, IteratorType::parallel);
  loops.push_back(IteratorType::reduction);
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(b.getMultiDimIdentityMap(4).dropResult(3));
  auto op = linalg::GenericOp::create(b, sums.getType(), inputs, ValueRange{sums}, maps, loops,
                                      [&](OpBuilder &nested, Location loc, ValueRange v) {
                                        ImplicitLocOpBuilder at(loc, nested);
                                        Value sum = body(at, v.drop_back(), v.back());
                                        linalg::YieldOp::create(at, sum);
                                      });
  op->setAttr(kContractionAttr, b.getUnitAttr());
  return op;
}

Value addProduct(ImplicitLocOpBuilder &b, Value sum, Value x, Value w) {
  return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, w));
}

linalg::GenericOp emitContraction(ImplicitLocOpBuilder &b, const Factors &factors, Value sums) {
  AffineExpr m, p, j, k;
  bindDims(b.getContext(), m, p, j, k);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(4, 0, results, b.getContext());
  };
  if (!factors.rowScales)
    return createContraction(b, {factors.x, factors.panels}, {map({m, k}), map({p, k, j})}, sums,
                             [](ImplicitLocOpBuilder &at, ValueRange v, Value sum) {
                               return addProduct(at, sum, v[0], v[1]);
                             });
  SmallVector<Value> inputs(winograd::kStep, factors.x);
  inputs.append(winograd::kStep, factors.panels);
  SmallVector<AffineMap> maps;
  for (int64_t i = 0; i < winograd::kStep; ++i)
    maps.push_back(map({m, k, b.getAffineConstantExpr(i)}));
  for (int64_t i = 0; i < winograd::kStep; ++i)
    maps.push_back(map({p, k, b.getAffineConstantExpr(i), j}));
  return createContraction(
      b, inputs, maps, sums, [](ImplicitLocOpBuilder &at, ValueRange v, Value sum) {
        ValueRange x = v.take_front(winograd::kStep), w = v.drop_front(winograd::kStep);
        auto add = [&](int64_t i, int64_t j) -> Value {
          return arith::AddFOp::create(at, w[i], x[j]);
        };
        auto subtract = [&](int64_t i, int64_t j) -> Value {
          return arith::SubFOp::create(at, w[i], x[j]);
        };
        sum = addProduct(at, sum, add(1, 0), add(0, 1));
        sum = addProduct(at, sum, x[2], w[2]);
        Value product = arith::MulFOp::create(at, subtract(4, 3), subtract(3, 4));
        sum = arith::SubFOp::create(at, sum, product);
        return addProduct(at, sum, x[5], w[5]);
      });
}

} // namespace

Value mlir::transformer::emitLinear(ImplicitLocOpBuilder &b, LinearChain chain, int64_t nr,
                                    bool winograd, Value squares) {
  LinearOp op = chain.linear;
  int64_t n = widthOf(op.getResult()), panels = (n + nr - 1) / nr, k = widthOf(op.getX());
  Type f32 = b.getF32Type();
  auto type = RankedTensorType::get({ShapedType::kDynamic, panels, nr}, f32);
  Value rows = tensor::DimOp::create(b, op.getX(), 0);
  Factors factors = emitFactors(b, op, nr, winograd, squares);
  Value init = tensor::EmptyOp::create(b, type, ValueRange{rows});
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value fill = linalg::FillOp::create(b, zero, init).getResult(0);
  Value sums = emitContraction(b, factors, fill).getResult(0);

  linalg::GenericOp root = emitEpilogue(b, chain, factors, sums, rows);
  root->setAttr(kEpilogueAttr, b.getUnitAttr());
  root->setAttr(kWorkAttr, linearWork(chain, k, n));

  auto flat = RankedTensorType::get({ShapedType::kDynamic, panels * nr}, f32);
  Value y = tensor::CollapseShapeOp::create(b, flat, root.getResult(0),
                                            ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  if (n % nr == 0)
    return y;
  return tensor::ExtractSliceOp::create(
      b, cast<RankedTensorType>(op.getResult().getType()), y,
      ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{rows, b.getIndexAttr(n)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
}

Value mlir::transformer::emitActivationGeneric(ImplicitLocOpBuilder &b, ActivationKind kind,
                                               Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  Value init =
      tensor::EmptyOp::create(b, tensor::getMixedSizes(b, b.getLoc(), x), type.getElementType());
  AffineMap identity = b.getMultiDimIdentityMap(2);
  return linalg::GenericOp::create(
             b, type, ValueRange{x}, ValueRange{init}, ArrayRef<AffineMap>{identity, identity},
             SmallVector<utils::IteratorType>(2, utils::IteratorType::parallel),
             [&](OpBuilder &nested, Location loc, ValueRange v) {
               ImplicitLocOpBuilder body(loc, nested);
               linalg::YieldOp::create(body, emitActivation(body, kind, v[0]));
             })
      .getResult(0);
}
