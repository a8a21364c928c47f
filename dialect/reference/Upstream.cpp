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

LogicalResult reference::evaluate(tensor::DimOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getSource());
  int64_t dim = frame.tensor(op.getIndex()).integers()[0];
  if (dim < 0 || dim >= source.rank())
    return frame.fail(op,
                      "dimension " + Twine(dim) + " of a tensor of rank " + Twine(source.rank()));
  frame.set(op.getResult(), Tensor::scalar(source.shape[dim]));
  return success();
}

/// The sizes of a result, of which operands say the dynamic ones.
static std::vector<int64_t> sizesOf(RankedTensorType type, ValueRange dynamic, Frame &frame) {
  std::vector<int64_t> shape = type.getShape().vec();
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size)) {
      size = frame.tensor(dynamic.front()).integers()[0];
      dynamic = dynamic.drop_front();
    }
  return shape;
}

LogicalResult reference::evaluate(tensor::ExtractOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getTensor());
  if (!source.isInteger() || source.rank() != 0)
    return frame.fail(op, "expected a scalar of an integer type");
  frame.set(op.getResult(), Tensor::scalar(source.integers()[0]));
  return success();
}

LogicalResult reference::evaluate(tensor::SplatOp op, Frame &frame) {
  Tensor result = Tensor::zeros(sizesOf(op.getType(), op.getDynamicSizes(), frame));
  result.reals().assign(result.size(), frame.tensor(op.getInput()).reals()[0]);
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(tensor::EmptyOp op, Frame &frame) {
  std::vector<int64_t> shape = sizesOf(op.getType(), op.getDynamicSizes(), frame);
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
  if (whole.isInteger() || !op.getOffsets().empty() || !op.getSizes().empty() ||
      !op.getStrides().empty())
    return frame.fail(op, "the interpreter slices only floating-point tensors, statically");
  std::vector<int64_t> strides = stridesOf(whole.shape);
  int64_t start = positionOf(op.getStaticOffsets(), strides);
  for (auto [stride, step] : llvm::zip(strides, op.getStaticStrides()))
    stride *= step;
  forEachIndex(op.getStaticSizes(), [&](ArrayRef<int64_t> index, int64_t position) {
    visit(position, start + positionOf(index, strides));
  });
  return success();
}

LogicalResult reference::evaluate(tensor::ExtractSliceOp op, Frame &frame) {
  const Tensor &source = frame.tensor(op.getSource());
  if (!op.getType().hasStaticShape())
    return frame.fail(op, "the interpreter slices only statically");
  Tensor result = Tensor::zeros(op.getType().getShape().vec());
  auto copy = [&](int64_t place, int64_t from) { result.reals()[place] = source.reals()[from]; };
  if (failed(forEachPlace(op, frame, source, copy)))
    return failure();
  frame.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(tensor::InsertSliceOp op, Frame &frame) {
  Tensor result = frame.tensor(op.getDest());
  const Tensor &source = frame.tensor(op.getSource());
  auto copy = [&](int64_t place, int64_t to) { result.reals()[to] = source.reals()[place]; };
  if (failed(forEachPlace(op, frame, result, copy)))
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
