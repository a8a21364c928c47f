//===- Upstream.cpp - ops of other dialects that models use ---------------===//
#include "dialect/reference/Operations.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

FailureOr<Tensor> reference::fromAttribute(Attribute attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return Tensor{{}, std::vector<double>{real.getValueAsDouble()}};
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return Tensor::scalar(integer.getInt());
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return failure();
  Tensor result{dense.getType().getShape().vec(), {}};
  if (isa<FloatType>(dense.getElementType())) {
    for (APFloat value : dense.getValues<APFloat>()) {
      bool lossy;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
      result.reals().push_back(value.convertToDouble());
    }
    return result;
  }
  if (!dense.getElementType().isIntOrIndex())
    return failure();
  std::vector<int64_t> values;
  for (APInt value : dense.getValues<APInt>())
    values.push_back(value.getSExtValue());
  result.data = std::move(values);
  return result;
}

/// Row-major strides of a shape, in elements.
static std::vector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

/// Calls `visit` with every index of `shape`, in row-major order, and its position.
static void forEachIndex(ArrayRef<int64_t> shape,
                         llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> visit) {
  int64_t size = Tensor::count(shape.vec());
  std::vector<int64_t> strides = stridesOf(shape), index(shape.size());
  for (int64_t position = 0; position < size; ++position) {
    for (size_t d = 0; d < shape.size(); ++d)
      index[d] = position / strides[d] % shape[d];
    visit(index, position);
  }
}

static int64_t positionOf(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    position += i * stride;
  return position;
}

LogicalResult reference::evaluate(arith::ConstantOp op, Frame &frame) {
  FailureOr<Tensor> value = fromAttribute(op.getValue());
  if (failed(value))
    return frame.fail(op, "the interpreter reads only dense constants");
  frame.set(op.getResult(), std::move(*value));
  return success();
}

/// `f` of each pair of elements.
template <typename F> static LogicalResult combine(Operation *op, Frame &frame, F f) {
  const Tensor &a = frame.tensor(op->getOperand(0)), &b = frame.tensor(op->getOperand(1));
  if (a.shape != b.shape)
    return frame.fail(op,
                      "operands have shapes " + shapeText(a.shape) + " and " + shapeText(b.shape));
  Tensor result = a;
  std::visit(
      [&](auto &values) {
        const auto &others = std::get<std::decay_t<decltype(values)>>(b.data);
        for (auto [value, other] : llvm::zip_equal(values, others))
          value = f(value, other);
      },
      result.data);
  frame.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult reference::evaluate(arith::AddFOp op, Frame &frame) {
  return combine(op, frame, std::plus<>());
}
LogicalResult reference::evaluate(arith::SubFOp op, Frame &frame) {
  return combine(op, frame, std::minus<>());
}
LogicalResult reference::evaluate(arith::MulFOp op, Frame &frame) {
  return combine(op, frame, std::multiplies<>());
}
LogicalResult reference::evaluate(arith::DivFOp op, Frame &frame) {
  return combine(op, frame, std::divides<>());
}
LogicalResult reference::evaluate(arith::MaximumFOp op, Frame &frame) {
  return combine(op, frame, [](auto a, auto b) { return a > b || a != a ? a : b; });
}
LogicalResult reference::evaluate(arith::NegFOp op, Frame &frame) {
  Tensor result = frame.tensor(op.getOperand());
  for (double &value : result.reals())
    value = -value;
  frame.set(op.getResult(), std::move(result));
  return success();
}
LogicalResult reference::evaluate(arith::AddIOp op, Frame &frame) {
  return combine(op, frame, std::plus<>());
}
LogicalResult reference::evaluate(arith::SubIOp op, Frame &frame) {
  return combine(op, frame, std::minus<>());
}
LogicalResult reference::evaluate(arith::MulIOp op, Frame &frame) {
  return combine(op, frame, std::multiplies<>());
}

LogicalResult reference::evaluate(arith::MinUIOp op, Frame &frame) {
  return combine(op, frame, [](auto a, auto b) { return std::min<uint64_t>(a, b); });
}

LogicalResult reference::evaluate(tensor::DimOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getSource());
  int64_t dim = frame.tensor(op.getIndex()).integers()[0];
  if (dim < 0 || dim >= source.rank())
    return frame.fail(op,
                      "dimension " + Twine(dim) + " of a tensor of rank " + Twine(source.rank()));
  frame.set(op.getResult(), Tensor::scalar(source.shape[dim]));
  return success();
}

/// Sizes of a result, or numbers of a slice, of which operands say the dynamic ones.
static std::vector<int64_t> numbersOf(ArrayRef<int64_t> fixed, ValueRange dynamic, Frame &frame) {
  std::vector<int64_t> numbers = fixed.vec();
  for (int64_t &number : numbers)
    if (ShapedType::isDynamic(number)) {
      number = frame.tensor(dynamic.front()).integers()[0];
      dynamic = dynamic.drop_front();
    }
  return numbers;
}

LogicalResult reference::evaluate(tensor::ExtractOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getTensor());
  if (!source.isInteger() || source.rank() != 0)
    return frame.fail(op, "expected a scalar of an integer type");
  frame.set(op.getResult(), Tensor::scalar(source.integers()[0]));
  return success();
}

LogicalResult reference::evaluate(tensor::SplatOp op, Frame &frame) {
  Tensor result = Tensor::zeros(numbersOf(op.getType().getShape(), op.getDynamicSizes(), frame));
  result.reals().assign(result.size(), frame.tensor(op.getInput()).reals()[0]);
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(tensor::EmptyOp op, Frame &frame) {
  std::vector<int64_t> shape = numbersOf(op.getType().getShape(), op.getDynamicSizes(), frame);
  bool real = isa<FloatType>(op.getType().getElementType());
  frame.set(op.getResult(), real ? Tensor::zeros(shape) : Tensor::integerZeros(shape));
  return success();
}

LogicalResult reference::evaluate(tensor::CastOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getSource());
  if (auto type = dyn_cast<RankedTensorType>(op.getType()))
    for (auto [size, expected] : llvm::zip(source.shape, type.getShape()))
      if (expected != ShapedType::kDynamic && size != expected)
        return frame.fail(op, "source has shape " + shapeText(source.shape));
  frame.set(op.getResult(), frame.get(op.getSource()));
  return success();
}

LogicalResult reference::evaluate(tensor::ConcatOp op, Frame &frame) {
  int64_t dim = op.getDim(), start = 0;
  std::vector<int64_t> shape = frame.tensor(op.getInputs()[0]).shape;
  shape[dim] = 0;
  for (Value input : op.getInputs())
    shape[dim] += frame.tensor(input).shape[dim];
  Tensor result = Tensor::zeros(shape);
  std::vector<int64_t> strides = stridesOf(shape);
  for (Value value : op.getInputs()) {
    const Tensor &input = frame.tensor(value);
    if (input.isInteger())
      return frame.fail(op, "the interpreter concatenates only floating-point tensors");
    for (auto [d, size] : llvm::enumerate(input.shape))
      if (static_cast<int64_t>(d) != dim && size != shape[d])
        return frame.fail(op, "an input has shape " + shapeText(input.shape));
    forEachIndex(input.shape, [&](ArrayRef<int64_t> index, int64_t position) {
      result.reals()[positionOf(index, strides) + start * strides[dim]] = input.reals()[position];
    });
    start += input.shape[dim];
  }
  frame.set(op.getResult(), std::move(result));
  return success();
}

/// Calls `visit` with each place of a slice, in row-major order, and its place in the tensor that
/// it is of. Unit dimensions that a slice drops do not change the order.
template <typename OpTy>
static LogicalResult forEachPlace(OpTy op, Frame &frame, const Tensor &whole,
                                  llvm::function_ref<void(int64_t, int64_t)> visit) {
  auto offsets = numbersOf(op.getStaticOffsets(), op.getOffsets(), frame);
  auto sizes = numbersOf(op.getStaticSizes(), op.getSizes(), frame);
  auto steps = numbersOf(op.getStaticStrides(), op.getStrides(), frame);
  for (auto [offset, size, step, of] : llvm::zip_equal(offsets, sizes, steps, whole.shape))
    if (offset < 0 || size < 0 || step < 1 || (size && offset + (size - 1) * step >= of))
      return frame.fail(op, "a slice of " + Twine(size) + " from " + Twine(offset) +
                                " on is not inside of " + shapeText(whole.shape));
  std::vector<int64_t> strides = stridesOf(whole.shape);
  int64_t start = positionOf(offsets, strides);
  for (auto [stride, step] : llvm::zip(strides, steps))
    stride *= step;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t position) {
    visit(position, start + positionOf(index, strides));
  });
  return success();
}

LogicalResult reference::evaluate(tensor::ExtractSliceOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getSource());
  auto sizes = numbersOf(op.getStaticSizes(), op.getSizes(), frame);
  std::vector<int64_t> shape;
  auto dropped = op.getDroppedDims();
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!dropped.test(i))
      shape.push_back(size);
  Tensor result =
      source.isInteger() ? Tensor::integerZeros(std::move(shape)) : Tensor::zeros(std::move(shape));
  LogicalResult copied = std::visit(
      [&](auto &values) {
        const auto &all = std::get<std::decay_t<decltype(values)>>(source.data);
        return forEachPlace(op, frame, source,
                            [&](int64_t place, int64_t from) { values[place] = all[from]; });
      },
      result.data);
  if (failed(copied))
    return failure();
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(tensor::InsertSliceOp op, Frame &frame) {
  Tensor result = frame.tensor(op.getDest());
  const Tensor &source = frame.tensor(op.getSource());
  LogicalResult copied = std::visit(
      [&](auto &values) {
        const auto &part = std::get<std::decay_t<decltype(values)>>(source.data);
        return forEachPlace(op, frame, result,
                            [&](int64_t place, int64_t to) { values[to] = part[place]; });
      },
      result.data);
  if (failed(copied))
    return failure();
  frame.set(op.getResult(), std::move(result));
  return success();
}

/// The same elements in another shape; sizes are static.
template <typename OpTy> static LogicalResult reshape(OpTy op, Frame &frame) {
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape())
    return frame.fail(op, "the interpreter reshapes only to static shapes");
  Tensor result = frame.tensor(op.getSrc());
  result.shape = type.getShape().vec();
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(tensor::ExpandShapeOp op, Frame &frame) {
  return reshape(op, frame);
}
LogicalResult reference::evaluate(tensor::CollapseShapeOp op, Frame &frame) {
  return reshape(op, frame);
}

LogicalResult reference::evaluate(linalg::TransposeOp op, Frame &frame) {
  if (!isa<RankedTensorType>(op.getInput().getType()))
    return frame.fail(op, "the interpreter transposes only tensors");
  const Tensor &input = frame.tensor(op.getInput());
  ArrayRef<int64_t> order = op.getPermutation();
  std::vector<int64_t> strides = stridesOf(input.shape), shape, from;
  for (int64_t d : order) {
    shape.push_back(input.shape[d]);
    from.push_back(strides[d]);
  }
  Tensor result = Tensor::zeros(shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t position) {
    result.reals()[position] = input.reals()[positionOf(index, from)];
  });
  frame.set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult reference::evaluate(linalg::CopyOp op, Frame &frame) {
  if (op->getNumResults() != 1)
    return frame.fail(op, "the interpreter copies only tensors");
  frame.set(op->getResult(0), frame.get(op.getInputs()[0]));
  return success();
}

LogicalResult reference::evaluate(scf::ForOp op, Frame &frame) {
  auto bound = [&](Value value) { return frame.tensor(value).integers()[0]; };
  int64_t end = bound(op.getUpperBound()), step = bound(op.getStep());
  if (step < 1)
    return frame.fail(op, "a step of " + Twine(step));
  SmallVector<Datum> values;
  for (Value init : op.getInitArgs())
    values.push_back(frame.get(init));
  for (int64_t i = bound(op.getLowerBound()); i < end; i += step) {
    frame.set(op.getInductionVar(), Tensor::scalar(i));
    for (auto [argument, value] : llvm::zip_equal(op.getRegionIterArgs(), values))
      frame.set(argument, value);
    for (Operation &inner : op.getBody()->without_terminator())
      if (failed(frame.interpreter.evaluate(&inner, frame)))
        return failure();
    for (auto [value, next] : llvm::zip_equal(values, op.getYieldedValues()))
      value = frame.get(next);
  }
  for (auto [result, value] : llvm::zip_equal(op.getResults(), values))
    frame.set(result, value);
  return success();
}
