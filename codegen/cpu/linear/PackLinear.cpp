//===- PackLinear.cpp - matrix products on packed weights -----------------===//
#include "codegen/analysis/Flops.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/Formats.h"
#include "codegen/cpu/linear/LinearFormat.h"
#include "codegen/cpu/linear/LinearMarks.h"
#include "codegen/cpu/linear/SplitSums.h"
#include "codegen/cpu/linear/Winograd.h"
#include "codegen/cpu/linear/Words.h"
#include "codegen/kernels/Work.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_PACKLINEAR
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether a product of m, n and k reads, or writes, an operand by these two of them.
bool isBy(AffineMap map, AffineExpr first, AffineExpr second) {
  return map == AffineMap::get(3, 0, {first, second}, map.getContext());
}

bool startsFromZeros(linalg::MatmulOp op) {
  auto zeros = op.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  return zeros && matchPattern(zeros.getInputs()[0], m_PosZeroFloat());
}

/// The product of rows and a weight that `op` is; nothing if it is another one.
std::optional<LinearOperands> linearOperands(linalg::MatmulOp op) {
  auto isMatrix = [](Value value, bool dynamicRows) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() == 2 && type.getElementType().isF32() && !type.isDynamicDim(1) &&
           (dynamicRows || !type.isDynamicDim(0));
  };
  Value x = op.getInputs()[0], weight = op.getInputs()[1];
  if (!isMatrix(x, true) || !isMatrix(weight, false) || !startsFromZeros(op))
    return std::nullopt;
  Builder b(op.getContext());
  AffineExpr m = b.getAffineDimExpr(0), n = b.getAffineDimExpr(1), k = b.getAffineDimExpr(2);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool outIn = isBy(maps[1], n, k);
  if (!isBy(maps[0], m, k) || !(outIn || isBy(maps[1], k, n)) || !isBy(maps[2], m, n))
    return std::nullopt;
  LinearOperands operands{x, weight, outIn ? WeightLayout::OutIn : WeightLayout::InOut, {}, {}};
  if (auto narrow = weight.getDefiningOp<QuantizeWeightOp>()) {
    operands.weight = narrow.getWeight();
    operands.format = narrow.getFormat();
  }
  auto rounded = x.getDefiningOp<QuantizeRowsOp>();
  if (rounded && operands.format &&
      (operands.format == WeightFormat::Bf16) == (rounded.getFormat() == WeightFormat::Bf16)) {
    operands.x = rounded.getX();
    operands.hasRoundedRows = true;
  }
  if (auto estimated = operands.x.getDefiningOp<cpu::EstimatedOp>()) {
    operands.x = estimated.getX();
    operands.squares = estimated.getSquares();
  }
  return operands;
}

/// One linear layer.
class Packer {
public:
  Packer(IRRewriter &rewriter, linalg::MatmulOp product, const LinearOperands &operands,
         const LinearFormat &format, cpu::TargetAttr target)
      : rewriter(rewriter), product(product), operands(operands), format(format),
        columns(format.tileColumns(target)), outputs(operands.outputs()),
        panels(llvm::divideCeil(outputs, columns)), b(product.getLoc(), rewriter) {}

  void run() {
    tail = findTail();
    Operation *last = tail ? tail : product.getOperation();
    b.setInsertionPoint(last);
    rows = tensor::DimOp::create(b, operands.x, 0);
    auto type = RankedTensorType::get({ShapedType::kDynamic, panels, columns}, b.getF32Type());
    LinearFactors factors = format.emitFactors(b, operands, columns);
    Value init = destination(type);
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    Value zeros = linalg::FillOp::create(b, zero, init).getResult(0);
    Value sums = emitContraction(factors, zeros);
    Value y = unpack(emitEpilogue(factors, sums));
    Type expected = last->getResult(0).getType();
    rewriter.replaceOp(last, b.createOrFold<tensor::CastOp>(expected, y));
    if (tail)
      rewriter.eraseOp(product);
  }

private:
  /// The elementwise op that alone reads the product, if it can go through panels.
  linalg::GenericOp findTail() {
    Value value = product.getResult(0);
    if (!value.hasOneUse())
      return {};
    auto op = dyn_cast<linalg::GenericOp>(*value.user_begin());
    if (!op || op->getBlock() != product->getBlock() || op.getNumLoops() != 2 ||
        op.getNumParallelLoops() != 2 || op->getNumResults() != 1 || op.hasIndexSemantics() ||
        !op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return {};
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      bool isProduct = input->get() == value;
      // Rows are read in panels, so their width must be a whole number of them.
      if (map.isIdentity() ? !isProduct && outputs % columns : isProduct || !isOfColumns(map))
        return {};
    }
    return op;
  }

  /// Where the tail's result belongs, if that is said and panels fill its rows.
  Value destination(RankedTensorType type) {
    Value place = tail ? tail.getDpsInits()[0] : Value();
    if (place && !place.getDefiningOp<tensor::EmptyOp>() && outputs % columns == 0)
      return packRows(place);
    return tensor::EmptyOp::create(b, type, ValueRange{rows});
  }

  bool isOfColumns(AffineMap map) {
    return map.getNumResults() == 1 && map.getResult(0) == b.getAffineDimExpr(1);
  }

  /// The dimensions are t, p, j and the steps, behind them the words of a group.
  Value emitContraction(const LinearFactors &factors, Value zeros) {
    using utils::IteratorType;
    AffineExpr t, p, j, s, word;
    bindDims(b.getContext(), t, p, j, s, word);
    int64_t dims = format.words() ? 5 : 4, places = format.places(), rows = format.panelRows();
    bool inMatrices = format.usesMatrixRegisters();
    SmallVector<Value> inputs(places, factors.x);
    SmallVector<AffineMap> maps;
    auto addMap = [&](ArrayRef<AffineExpr> results) {
      maps.push_back(AffineMap::get(dims, 0, results, b.getContext()));
    };
    for (int64_t i = 0; i < places; ++i) {
      AffineExpr place = b.getAffineConstantExpr(i);
      if (format.words())
        addMap({t, s, word, place});
      else if (inMatrices)
        addMap({place, t, s});
      else
        places == 1 ? addMap({t, s}) : addMap({t, s, place});
    }
    if (factors.scales) {
      inputs.push_back(factors.scales);
      addMap({p, s, j});
    }
    inputs.append(format.words() ? 1 : rows, factors.panels);
    if (format.words())
      addMap({p, s, word, j});
    else
      for (int64_t i = 0; i < rows; ++i) {
        AffineExpr row = b.getAffineConstantExpr(i);
        if (inMatrices)
          addMap({p, row, s, j});
        else
          rows == 1 ? addMap({p, s, j}) : addMap({p, s, row, j});
      }
    addMap({t, p, j});
    SmallVector<IteratorType> loops(3, IteratorType::parallel);
    loops.append(dims - 3, IteratorType::reduction);
    auto op = linalg::GenericOp::create(
        b, zeros.getType(), inputs, ValueRange{zeros}, maps, loops,
        [&](OpBuilder &nested, Location loc, ValueRange v) {
          ImplicitLocOpBuilder body(loc, nested);
          Value sum = v.back();
          ValueRange x = v.take_front(places), w = v.slice(places, inputs.size() - places);
          linalg::YieldOp::create(body, format.words()
                                            ? sumOfWord(body, x, w.front(), w.back(), sum)
                                            : addStep(body, factors, x, w, sum));
        });
    markPart(op, LinearPart::Contraction, b.getStringAttr(format.name()));
    return op.getResult(0);
  }

  /// `w`: the scale, if there are any, and rows of the panel.
  Value addStep(ImplicitLocOpBuilder &body, const LinearFactors &factors, ValueRange x,
                ValueRange w, Value sum) {
    Value scale = factors.scales ? w.front() : Value();
    w = w.take_back(format.panelRows());
    LinearStep step{
        1,
        1,
        sum.getType(),
        [&](int64_t, int64_t place) { return x[place]; },
        [&](int64_t, int64_t row) { return w[row]; },
        [&](int64_t) -> Value { return arith::ExtFOp::create(body, sum.getType(), scale); }};
    format.addStep(body, step, sum);
    return sum;
  }

  /// With what a group's sum starts from, which is 0 in all words but the first.
  Value sumOfWord(ImplicitLocOpBuilder &body, ValueRange x, Value scale, Value word, Value sum) {
    Value ofWord = x.back();
    for (auto [u, factor] : llvm::enumerate(x.drop_back())) {
      Value weight = format.weightOfWord(body, word, body.getIndexAttr(u), sum.getType());
      ofWord = emitMultiplyAdd(body, factor, weight, ofWord);
    }
    scale = arith::ExtFOp::create(body, sum.getType(), scale);
    return arith::AddFOp::create(body, sum, arith::MulFOp::create(body, scale, ofWord));
  }

  /// One elementwise op over the panels: what the format does to sums, then the tail.
  Value emitEpilogue(const LinearFactors &factors, Value sums) {
    SmallVector<Value> inputs(factors.epilogue);
    SmallVector<AffineMap> maps(factors.epilogueMaps);
    size_t ofFormat = inputs.size();
    AffineMap all = b.getMultiDimIdentityMap(3);
    SmallVector<unsigned> ofTail; // where the tail's inputs are; the product's is left out
    if (tail)
      for (OpOperand *input : tail.getDpsInputOperands()) {
        bool wide = tail.getMatchingIndexingMap(input).isIdentity();
        ofTail.push_back(inputs.size());
        if (input->get() == product.getResult(0))
          continue;
        inputs.push_back(wide ? packRows(input->get()) : packColumns(input->get()));
        maps.push_back(wide ? all : all.dropResult(0));
      }
    maps.push_back(all);
    auto op = linalg::GenericOp::create(
        b, sums.getType(), inputs, ValueRange{sums}, maps,
        SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
        [&](OpBuilder &nested, Location loc, ValueRange v) {
          ImplicitLocOpBuilder body(loc, nested);
          Value y = format.finish(body, SmallVector<Value>(v.take_front(ofFormat)), v.back());
          if (tail)
            y = cloneTail(body, v, ofTail, y);
          else if (ofFormat == 0) // an op that does nothing would be folded away
            y = arith::AddFOp::create(body, y,
                                      arith::ConstantOp::create(body, b.getF32FloatAttr(0)));
          linalg::YieldOp::create(body, y);
        });
    markPart(op, LinearPart::Epilogue);
    op->setAttr(kWorkAttr, work());
    return op.getResult(0);
  }

  Value cloneTail(OpBuilder &body, ValueRange arguments, ArrayRef<unsigned> places, Value sum) {
    IRMapping map;
    for (auto [input, place] : llvm::zip_equal(tail.getDpsInputOperands(), places))
      map.map(tail.getMatchingBlockArgument(input),
              input->get() == product.getResult(0) ? sum : arguments[place]);
    for (Operation &op : tail.getBody()->without_terminator())
      body.clone(op, map);
    return map.lookupOrDefault(tail.getBody()->getTerminator()->getOperand(0));
  }

  Value packRows(Value value) {
    auto type = RankedTensorType::get({ShapedType::kDynamic, outputs}, b.getF32Type());
    value = b.createOrFold<tensor::CastOp>(type, value);
    return tensor::ExpandShapeOp::create(
        b, type.clone({ShapedType::kDynamic, panels, columns}), value,
        ArrayRef<ReassociationIndices>{{0}, {1, 2}},
        SmallVector<OpFoldResult>{rows, b.getIndexAttr(panels), b.getIndexAttr(columns)});
  }

  /// `[P, NR]` from `[N]`, padded with zeros.
  Value packColumns(Value value) {
    auto type = RankedTensorType::get({panels * columns}, b.getF32Type());
    if (panels * columns != outputs) {
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      value = tensor::PadOp::create(
          b, type, value, ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(panels * columns - outputs)}, zero);
    }
    return tensor::ExpandShapeOp::create(b, type.clone({panels, columns}), value,
                                         ArrayRef<ReassociationIndices>{{0, 1}});
  }

  /// `[T, N]` from panels.
  Value unpack(Value y) {
    auto flat = RankedTensorType::get({ShapedType::kDynamic, panels * columns}, b.getF32Type());
    y = tensor::CollapseShapeOp::create(b, flat, y, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
    if (panels * columns == outputs)
      return y;
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    return tensor::ExtractSliceOp::create(
        b, flat.clone({ShapedType::kDynamic, outputs}), y, ArrayRef<OpFoldResult>{zero, zero},
        ArrayRef<OpFoldResult>{rows, b.getIndexAttr(outputs)}, ArrayRef<OpFoldResult>{one, one});
  }

  /// For profiles; the amount is the number of rows.
  DictionaryAttr work() {
    constexpr int64_t f32 = 4; // bytes
    int64_t inputs = operands.inputs(), rowsRead = 0, columnsRead = 0;
    std::string k = std::to_string(inputs), n = std::to_string(outputs);
    Work work{"linear " + k + "x" + n, "K=" + k + " N=" + n, {}};
    if (tail) {
      for (OpOperand *input : tail.getDpsInputOperands())
        if (input->get() != product.getResult(0))
          ++(tail.getMatchingIndexingMap(input).isIdentity() ? rowsRead : columnsRead);
      for (auto activation : tail.getBody()->getOps<ActivationOp>())
        work.label += " " + stringifyActivationKind(activation.getKind()).str();
    }
    work.amounts.push_back({product->hasAttr(kPerSequenceAttr) ? "sequences" : "tokens",
                            2 * inputs * outputs, f32 * (inputs + (1 + rowsRead) * outputs)});
    work.fixedBytes = (format.columnBytes(inputs) + f32 * columnsRead) * outputs;
    work.layer = layerOfParameter(operands.weight);
    return workAttr(b.getContext(), work);
  }

  IRRewriter &rewriter;
  linalg::MatmulOp product;
  LinearOperands operands;
  const LinearFormat &format;
  int64_t columns, outputs, panels;
  ImplicitLocOpBuilder b;
  linalg::GenericOp tail;
  Value rows;
};

/// Whether `op` is a^T b, rows being summed over.
bool isWeightGradient(linalg::MatmulOp op) {
  Builder b(op.getContext());
  AffineExpr m = b.getAffineDimExpr(0), n = b.getAffineDimExpr(1), k = b.getAffineDimExpr(2);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return isBy(maps[0], k, m) && isBy(maps[1], k, n) && isBy(maps[2], m, n) &&
         type.hasStaticShape() && type.getElementType().isF32();
}

bool isBfloat16Rows(Value value) {
  auto rounded = value.getDefiningOp<QuantizeRowsOp>();
  return rounded && rounded.getFormat() == WeightFormat::Bf16;
}

/// Of one of them, for so many tokens.
Value rowsOfWinogradParts(ImplicitLocOpBuilder &b, Value tokens) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  auto ceilDiv = [&](int64_t size) -> Value {
    return arith::CeilDivUIOp::create(b, tokens, constant(size));
  };
  Value blocks = arith::MaxUIOp::create(b, ceilDiv(winograd::kBlock), constant(1));
  Value padded = arith::MulIOp::create(b, ceilDiv(winograd::kStep), constant(winograd::kStep));
  Value rows = arith::AddIOp::create(b, blocks, padded);
  return arith::AddIOp::create(b, rows, constant(winograd::kFirstBlock));
}

/// What sums the squares of `gradient`, null if nothing does.
kernel::SumSquaresOp squaresOf(Value gradient) {
  for (Operation *user : gradient.getUsers())
    if (auto squares = dyn_cast<kernel::SumSquaresOp>(user))
      return squares;
  return {};
}

void convertWeightGradient(IRRewriter &rewriter, linalg::MatmulOp op, cpu::TargetAttr target) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  b.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  bool onto = !startsFromZeros(op);
  SmallVector<Value> outs = {op.getDpsInits()[0]};
  if (!onto)
    outs[0] = tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<Value> inputs(op.getInputs());
  bool rounded = llvm::all_of(inputs, isBfloat16Rows);
  if (rounded)
    for (Value &input : inputs)
      input = input.getDefiningOp<QuantizeRowsOp>().getX();
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, v); };
  Value rows = tensor::DimOp::create(b, inputs[0], 0);
  bool winograd = !rounded && target.getWinogradVectors();
  int64_t ofRegister = winograd ? 0 : target.matrixRows();
  bool isWords = rounded || ofRegister;
  if (isWords) // of two tokens
    rows = arith::CeilDivUIOp::create(b, rows, constant(2));
  Value tokens = rows, registers; // of a strip
  if (winograd)
    rows = rowsOfWinogradParts(b, tokens);
  if (ofRegister) {
    registers = arith::CeilDivUIOp::create(b, rows, constant(ofRegister));
    rows = arith::MulIOp::create(b, registers, constant(ofRegister));
    if (cpu::WeightGradientOp::makesStripsInTasks(type.getDimSize(0), type.getDimSize(1)))
      registers = constant(0);
  }
  Type element = isWords ? Type(b.getI32Type()) : b.getF32Type();
  SmallVector<int64_t> columns = {target.productRows(), target.productColumns()};
  if (rounded)
    columns = {target.tileRows(), target.panelColumns()};
  const LinearFormat &format = winograd  ? winogradFormat()
                               : rounded ? bfloat16MatrixFormat()
                                         : float32MatrixFormat();
  if (winograd || ofRegister)
    columns = {format.tileRows(target), format.tileColumns(target)};
  int64_t tiles = 1;
  for (auto [width, part] : llvm::zip_equal(type.getShape(), columns)) {
    int64_t parts = llvm::divideCeil(width, part);
    tiles *= parts;
    SmallVector<OpFoldResult> scratch = {b.getIndexAttr(parts), rows, b.getIndexAttr(part)};
    OpFoldResult places = b.getIndexAttr(format.places());
    if (ofRegister && outs.size() == 1)
      scratch = {scratch[0], registers, places, scratch[2], b.getIndexAttr(ofRegister)};
    else if (ofRegister)
      scratch.insert(scratch.begin() + 1, places);
    outs.push_back(tensor::EmptyOp::create(b, scratch, element));
  }
  if (winograd)
    outs.push_back(tensor::EmptyOp::create(b, {ShapedType::kDynamic}, element, tokens));
  kernel::SumSquaresOp squares = squaresOf(op->getResult(0));
  if (squares)
    for (ArrayRef<int64_t> shape : {ArrayRef<int64_t>(), ArrayRef(tiles)})
      outs.push_back(tensor::EmptyOp::create(b, shape, b.getF32Type()));
  auto product = cpu::WeightGradientOp::create(b, ValueRange(outs).getTypes(), inputs[0], inputs[1],
                                               outs, winograd, ofRegister != 0, !!squares, onto);
  if (squares)
    rewriter.replaceOp(squares, product.getResults().take_back(2));
  rewriter.replaceOp(op, product.getResult(0));
}

/// Attention that rounds what it multiplies, or columns that such attention alone reads.
bool isOfHeads(Operation *op) {
  if (auto attention = dyn_cast<kernel::AttentionOp>(op))
    return bool(attention.getOptions().getRounding());
  return isa<tensor::ExtractSliceOp>(op) && llvm::all_of(op->getUsers(), isOfHeads);
}

/// Sums over tokens are of words, where products take these as rows.
void sumWords(IRRewriter &rewriter, QuantizeRowsOp rows, cpu::TargetAttr target) {
  if (rows.getFormat() != WeightFormat::Bf16 || target.matrixRows() ||
      rows.getX().getType().getRank() != 2)
    return;
  for (OpOperand &use : llvm::make_early_inc_range(rows->getUses())) {
    auto sum = dyn_cast<kernel::SumRowsOp>(use.getOwner());
    if (!sum)
      continue;
    rewriter.setInsertionPoint(sum);
    ImplicitLocOpBuilder b(sum.getLoc(), rewriter);
    use.set(roundRows(b, rows.getX(), wordsOf(widthOf(rows.getX()))));
  }
}

struct PackLinearPass : mlir::transformer::impl::PackLinearBase<PackLinearPass> {
  using Base::Base;
  void runOnOperation() override {
    cpu::TargetAttr target = cpu::TargetAttr::of(getOperation());
    if (!target)
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::MatmulOp> products;
    getOperation()->walk([&](linalg::MatmulOp op) { products.push_back(op); });
    for (linalg::MatmulOp product : products)
      if (std::optional<LinearOperands> operands = linearOperands(product)) {
        const LinearFormat *format = linearFormatFor(target, *operands);
        if (!format) {
          product.emitOpError("multiplies bfloat16, for which the target has no instruction");
          return signalPassFailure();
        }
        for (linalg::MatmulOp part : splitSum(rewriter, product, *operands, *format, target))
          Packer(rewriter, part, *linearOperands(part), *format, target).run();
      } else if (isWeightGradient(product)) {
        convertWeightGradient(rewriter, product, target);
      }
    SmallVector<cpu::EstimatedOp> estimated;
    getOperation()->walk([&](cpu::EstimatedOp op) { estimated.push_back(op); });
    for (cpu::EstimatedOp op : estimated)
      rewriter.replaceOp(op, op.getX());
    SmallVector<Operation *> rounded;
    getOperation()->walk([&](Operation *op) {
      if (isa<QuantizeWeightOp, QuantizeRowsOp>(op))
        rounded.push_back(op);
    });
    for (Operation *op : rounded) {
      if (auto rows = dyn_cast<QuantizeRowsOp>(op)) {
        sumWords(rewriter, rows, target);
        rewriter.replaceUsesWithIf(rows.getResult(), rows.getX(), [](OpOperand &use) {
          // As many as there are of x; sums of what is not rounded are the more exact ones.
          return isa<tensor::DimOp, kernel::SumRowsOp>(use.getOwner()) || isOfHeads(use.getOwner());
        });
      }
      if (!op->use_empty()) {
        op->emitOpError("is read by something else than products of rows and a weight");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }
};

} // namespace
