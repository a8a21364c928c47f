//===- LinearFormat.cpp - how the products of a linear layer are summed ---===//
#include "codegen/cpu/linear/LinearFormat.h"
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/Formats.h"
#include "dialect/State.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

ArrayRef<const LinearFormat *> mlir::transformer::linearFormats() {
  static const LinearFormat *formats[] = {
      &winogradFormat(),       &float32MatrixFormat(), &float32Format(),     &bfloat16Format(),
      &int8Format(),           &int4Format(),          &int8IntegerFormat(), &int4IntegerFormat(),
      &bfloat16MatrixFormat(), &bfloat16PairsFormat()};
  return formats;
}

const LinearFormat *mlir::transformer::linearFormatFor(cpu::TargetAttr target,
                                                       const LinearOperands &operands) {
  for (const LinearFormat *format : linearFormats())
    if (format->weightFormat() == operands.format &&
        format->readsRoundedRows() == operands.hasRoundedRows && format->fits(target, operands))
      return format;
  return nullptr;
}

const LinearFormat *mlir::transformer::linearFormatNamed(StringRef name) {
  for (const LinearFormat *format : linearFormats())
    if (format->name() == name)
      return format;
  return nullptr;
}

void LinearFormat::addStep(ImplicitLocOpBuilder &b, const LinearStep &step,
                           MutableArrayRef<Value> sums) const {
  size_t together = step.panels == 1 ? terms().size() : 1; // that a row takes before the next
  for (ArrayRef<LinearTerm> left = terms(); !left.empty(); left = left.drop_front(together))
    for (int64_t p = 0; p < step.panels; ++p) {
      auto w = llvm::map_to_vector(left.take_front(together), [&](const LinearTerm &term) {
        return llvm::map_to_vector(term.products, [&](int64_t k) { return step.w(p, k); });
      });
      for (int64_t i = 0; i < step.rows; ++i)
        for (auto [term, ofTerm] : llvm::zip_equal(left.take_front(together), w)) {
          auto x = llvm::map_to_vector(term.products, [&](int64_t k) { return step.x(i, k); });
          Value &sum = sums[i * step.panels + p];
          sum = term.add(b, x, ofTerm, sum);
        }
    }
}

int64_t LinearOperands::outputs() const {
  return cast<RankedTensorType>(weight.getType()).getDimSize(layout == WeightLayout::OutIn ? 0 : 1);
}

/// Where the module calls `function`. (The general search for uses of a symbol looks into every
/// attribute.)
static SmallVector<func::CallOp> callsOf(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  function->getParentOp()->walk([&](func::CallOp call) {
    if (call.getCallee() == function.getName())
      calls.push_back(call);
  });
  return calls;
}

static bool isOfCalls(Value weight) {
  if (auto merged = weight.getDefiningOp<tensor::ConcatOp>())
    return llvm::any_of(merged.getInputs(), [](Value input) { return isOfCalls(input); });
  if (auto part = weight.getDefiningOp<tensor::ExtractSliceOp>())
    return isOfCalls(part.getSource());
  if (weight.getDefiningOp<func::CallOp>()) // an update
    return true;
  auto argument = dyn_cast<BlockArgument>(weight);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return false;
  auto calls = callsOf(function);
  return calls.empty() || llvm::any_of(calls, [&](func::CallOp call) {
           return isOfCalls(call.getOperand(argument.getArgNumber()));
         });
}

bool LinearOperands::isOfCalls() const { return ::isOfCalls(weight); }

static bool keepsState(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!stateOfArgument(function, i).empty())
      return true;
  return false;
}

/// A program without a cache has nothing else. One with a cache has layers of its encoder: what it
/// keeps something behind calls them, they keep nothing.
bool LinearOperands::isOfSequences() const {
  Value rows = x;
  if (cast<RankedTensorType>(rows.getType()).hasStaticShape()) // of a parameter, too
    return false;
  auto function = rows.getParentRegion()->getParentOfType<func::FuncOp>();
  if (keepsState(function))
    return false;
  auto module = function->getParentOfType<ModuleOp>();
  if (llvm::none_of(module.getOps<func::FuncOp>(), keepsState))
    return true;
  return llvm::any_of(callsOf(function), [](func::CallOp call) {
    return keepsState(call->getParentOfType<func::FuncOp>());
  });
}

Value mlir::transformer::emitPackedWeight(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                                          Value scales, ArrayRef<int64_t> shape, Type element) {
  Value out = tensor::EmptyOp::create(b, shape, element);
  return cpu::PackWeightOp::create(b, TypeRange{out.getType()}, ValueRange{operands.weight}, scales,
                                   Value(), ValueRange{out}, operands.layout, /*ahead=*/false)
      .getResult(0);
}

Value mlir::transformer::emitWeightScales(ImplicitLocOpBuilder &b, const LinearOperands &operands,
                                          int64_t groups, int64_t columns, Type element) {
  int64_t panels = llvm::divideCeil(operands.outputs(), columns);
  Value out = tensor::EmptyOp::create(b, ArrayRef<int64_t>{panels, groups, columns}, element);
  return cpu::WeightScalesOp::create(b, TypeRange{out.getType()}, ValueRange{operands.weight},
                                     ValueRange{out}, *operands.format, operands.layout)
      .getResult(0);
}

Value mlir::transformer::emitWord(ImplicitLocOpBuilder &b, Value like, uint32_t bits) {
  TypedAttr value = b.getI32IntegerAttr(static_cast<int32_t>(bits));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(b, value);
}

Value mlir::transformer::emitMultiplyAdd(ImplicitLocOpBuilder &b, Value x, Value w, Value sum) {
  if (isa<VectorType>(sum.getType()))
    return vector::FMAOp::create(b, x, w, sum);
  return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, w));
}

Value mlir::transformer::emitMultiplySubtract(ImplicitLocOpBuilder &b, Value x, Value w,
                                              Value sum) {
  if (isa<VectorType>(sum.getType()))
    return vector::FMAOp::create(b, arith::NegFOp::create(b, x), w, sum);
  return arith::SubFOp::create(b, sum, arith::MulFOp::create(b, x, w));
}
