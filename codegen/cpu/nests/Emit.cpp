//===- Emit.cpp - shorthand for emitting loop nests -----------------------===//
#include "codegen/cpu/nests/Emit.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

Value Emit::scalar(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value Emit::splat(double value) { return floatConstant(*this, vectorType(), value); }

Value Emit::reduce(Value x, function_ref<Value(Value, Value)> combine) {
  for (int64_t half = lanes() / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    Value a = vector::ShuffleOp::create(*this, x, x, low);
    Value b = vector::ShuffleOp::create(*this, x, x, high);
    x = combine(a, b);
  }
  return vector::ExtractOp::create(*this, x, ArrayRef<int64_t>{0});
}

Value Emit::sumLanes(Value x) {
  return reduce(x, [&](Value a, Value b) { return addf(a, b); });
}

Value Emit::maxLane(Value x) {
  return reduce(x, [&](Value a, Value b) { return emitMax(*this, a, b); });
}

Value Emit::sumTree(ValueRange values) {
  if (values.size() == 1)
    return values.front();
  size_t half = (values.size() + 1) / 2;
  return addf(sumTree(values.take_front(half)), sumTree(values.drop_front(half)));
}

Value Emit::lanesBelow(int64_t count) {
  auto type = VectorType::get({lanes()}, getI1Type());
  return vector::ConstantMaskOp::create(*this, type, ArrayRef<int64_t>{count});
}

Value Emit::compareLanes(arith::CmpIPredicate predicate, Value number, int64_t first) {
  auto type = VectorType::get({lanes()}, getI32Type());
  SmallVector<int32_t> ascending;
  for (int64_t i = 0; i < lanes(); ++i)
    ascending.push_back(first + i);
  Value lane =
      arith::ConstantOp::create(*this, DenseElementsAttr::get(type, ArrayRef<int32_t>(ascending)));
  Value other = arith::IndexCastOp::create(*this, getI32Type(), number);
  return compare(predicate, lane, vector::BroadcastOp::create(*this, type, other));
}

Value Emit::lanesBelow(Value limit, int64_t first) {
  return compareLanes(arith::CmpIPredicate::slt, limit, first);
}
Value Emit::laneEqual(Value number) { return compareLanes(arith::CmpIPredicate::eq, number, 0); }

Value Emit::loadVector(Value buffer, ValueRange at, int64_t count) {
  if (count == lanes())
    return vector::LoadOp::create(*this, vectorType(), buffer, at);
  return vector::MaskedLoadOp::create(*this, vectorType(), buffer, at, lanesBelow(count), splat(0));
}

void Emit::storeVector(Value x, Value buffer, ValueRange at, int64_t count) {
  if (count == lanes())
    vector::StoreOp::create(*this, x, buffer, at);
  else
    vector::MaskedStoreOp::create(*this, buffer, at, lanesBelow(count), x);
}

void Emit::prefetchRow(Value buffer, Value row, Value column, int64_t count, int64_t level) {
  constexpr int64_t lineElements = 64 / sizeof(float);
  unsigned locality = 4 - level;
  for (int64_t i = 0; i < count; i += lineElements)
    memref::PrefetchOp::create(*this, buffer, ValueRange{row, add(column, i)}, /*isWrite=*/false,
                               locality, /*isDataCache=*/true);
}

void Emit::transposeSquare(Values &x) {
  int64_t n = x.size();
  for (int64_t step = 1; step < n; step *= 2)
    for (int64_t i = 0; i < n; ++i) {
      if (i & step)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < n; ++lane) {
        low.push_back(lane & step ? n + lane - step : lane);
        high.push_back(lane & step ? n + lane : lane + step);
      }
      Value upper = x[i], lower = x[i + step];
      x[i] = vector::ShuffleOp::create(*this, upper, lower, low);
      x[i + step] = vector::ShuffleOp::create(*this, upper, lower, high);
    }
}

Value Emit::stackBuffer(ArrayRef<int64_t> shape, Type element) {
  constexpr int64_t cacheLine = 64;
  return memref::AllocaOp::create(*this, MemRefType::get(shape, element ? element : getF32Type()),
                                  getI64IntegerAttr(cacheLine));
}

Values Emit::loop(Value lower, Value upper, int64_t step, ValueRange init,
                  function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(*this, lower, upper, index(step), init,
                               [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToEnd(op.getBody());
  scf::YieldOp::create(*this, body(op.getInductionVar(), op.getRegionIterArgs()));
  return Values(op.getResults());
}

void Emit::forEach(Value lower, Value upper, int64_t step, function_ref<void(Value)> body) {
  loop(lower, upper, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void Emit::parallel(const Work &work, ValueRange amounts, Value count,
                    function_ref<void(Value)> body) {
  auto op = scf::ForallOp::create(*this, ArrayRef<OpFoldResult>{count}, ValueRange(), std::nullopt);
  setWork(*this, op, workAttr(getContext(), work), amounts);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.getBody()->getTerminator());
  body(op.getInductionVar(0));
}

Values Emit::ifElse(Value condition, TypeRange types, function_ref<Values()> thenBody,
                    function_ref<Values()> elseBody) {
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  auto fill = [&](Block *block, function_ref<Values()> body) {
    if (!block->empty())
      block->back().erase(); // the terminator of an if without results
    setInsertionPointToEnd(block);
    scf::YieldOp::create(*this, body());
  };
  fill(op.thenBlock(), thenBody);
  fill(op.elseBlock(), elseBody);
  return Values(op.getResults());
}

void Emit::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

Value Emit::findSegment(Value count, Value position, function_ref<Value(Value)> start) {
  SmallVector<Type> types(2, getIndexType());
  SmallVector<Location> locs(2, getLoc());
  auto op = scf::WhileOp::create(*this, types, ValueRange{index(0), count});
  OpBuilder::InsertionGuard guard(*this);
  Block *before = createBlock(&op.getBefore(), {}, types, locs);
  Value low = before->getArgument(0), high = before->getArgument(1);
  scf::ConditionOp::create(*this, lt(add(low, 1), high), before->getArguments());
  Block *after = createBlock(&op.getAfter(), {}, types, locs);
  low = after->getArgument(0), high = after->getArgument(1);
  Value middle = div(add(low, high), 2);
  Value right = le(start(middle), position);
  scf::YieldOp::create(*this, ValueRange{select(right, middle, low), select(right, high, middle)});
  return op.getResult(0);
}

int64_t Emit::itemsPerTask(int64_t elements) {
  constexpr int64_t elementsPerTask = 3072;
  return std::clamp<int64_t>(elementsPerTask / std::max<int64_t>(elements, 1), 1, 1024);
}

/// Steps of an inner loop that are written out.
static constexpr int64_t innerUnroll = 4;

Values Emit::unrolledLoop(int64_t count, Values init, function_ref<void(Value, Values &)> body) {
  int64_t whole = count / innerUnroll * innerUnroll;
  if (whole)
    init = loop(index(0), index(whole), innerUnroll, init, [&](Value i, ValueRange args) {
      Values values(args);
      for (int64_t u = 0; u < innerUnroll; ++u)
        body(add(i, u), values);
      return values;
    });
  for (int64_t i = whole; i < count; ++i)
    body(index(i), init);
  return init;
}

Values Emit::unrolledLoop(Value lower, Value upper, Values init,
                          function_ref<void(Value, Values &)> body) {
  Value whole = add(lower, mul(div(sub(upper, lower), innerUnroll), innerUnroll));
  auto steps = [&](int64_t n) {
    return [&, n](Value i, ValueRange args) {
      Values values(args);
      for (int64_t u = 0; u < n; ++u)
        body(add(i, u), values);
      return values;
    };
  };
  init = loop(lower, whole, innerUnroll, init, steps(innerUnroll));
  return loop(whole, upper, 1, init, steps(1));
}
