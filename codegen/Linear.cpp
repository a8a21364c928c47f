//===- Linear.cpp - a linear layer and what follows it, as linalg ---------===//
#include "codegen/Linear.h"
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

/// One elementwise op over the panels: bias, activation, residual.
linalg::GenericOp emitEpilogue(ImplicitLocOpBuilder &b, LinearChain chain, Value sums, Value rows) {
  LinearOp op = chain.linear;
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t panels = type.getDimSize(1), nr = type.getDimSize(2);
  AffineMap all = b.getMultiDimIdentityMap(3), columns = all.dropResult(0);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
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
        if (op.getBias())
          y = arith::AddFOp::create(body, y, v[next++]);
        else // an op that does nothing would be folded away, and with it the root of the tiling
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

} // namespace

Value mlir::transformer::emitLinear(ImplicitLocOpBuilder &b, LinearChain chain, int64_t nr) {
  LinearOp op = chain.linear;
  Value x = op.getX();
  int64_t n = widthOf(op.getResult()), panels = (n + nr - 1) / nr, k = widthOf(x);
  Type f32 = b.getF32Type();
  auto type = RankedTensorType::get({ShapedType::kDynamic, panels, nr}, f32);
  Value rows = tensor::DimOp::create(b, x, 0);
  Value weight = packWeight(b, op, nr);

  AffineExpr m, p, j, kk;
  bindDims(b.getContext(), m, p, j, kk);
  auto map = [&](unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, b.getContext());
  };
  using utils::IteratorType;
  Value init = tensor::EmptyOp::create(b, type, ValueRange{rows});
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value fill = linalg::FillOp::create(b, zero, init).getResult(0);
  SmallVector<AffineMap> maps = {map(4, {m, kk}), map(4, {p, kk, j}), map(4, {m, p, j})};
  SmallVector<IteratorType> loops = {IteratorType::parallel, IteratorType::parallel,
                                     IteratorType::parallel, IteratorType::reduction};
  auto contraction =
      linalg::GenericOp::create(b, type, ValueRange{x, weight}, ValueRange{fill}, maps, loops,
                                [](OpBuilder &nested, Location loc, ValueRange v) {
                                  Value product = arith::MulFOp::create(nested, loc, v[0], v[1]);
                                  Value sum = arith::AddFOp::create(nested, loc, v[2], product);
                                  linalg::YieldOp::create(nested, loc, sum);
                                });
  contraction->setAttr(kContractionAttr, b.getUnitAttr());

  linalg::GenericOp root = emitEpilogue(b, chain, contraction.getResult(0), rows);
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
  Value rows = tensor::DimOp::create(b, x, 0);
  Value init = tensor::EmptyOp::create(b, type, ValueRange{rows});
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
