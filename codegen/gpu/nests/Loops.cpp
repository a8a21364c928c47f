//===- Loops.cpp - shorthand for emitting a kernel's threads --------------===//
#include "codegen/gpu/nests/Loops.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::transformer::simt;

void Loops::describe(const Work &of, ValueRange counted) {
  work = workAttr(getContext(), of);
  amounts = Values(counted);
}

void Loops::numberParts() {
  llvm::MapVector<Block *, SmallVector<kernel::WorkOp>> parts;
  for (kernel::WorkOp op : described)
    parts[op->getParentOp()->getBlock()].push_back(op);
  for (auto &[block, ops] : parts)
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (ops.size() == 1)
        continue;
      op.setLabel((op.getLabel() + " " + Twine(i + 1) + "/" + Twine(ops.size())).str());
      op.getAmountsMutable().clear();
      op.setShape("");
      op.setFlops({});
      op.setBytes({});
      op.setFixedBytes(0);
    }
}

void Loops::threads(ValueRange sizes, function_ref<void(ValueRange)> body) {
  if (sizes.empty())
    return once([&] { body({}); });
  Values zeros(sizes.size(), index(0)), ones(sizes.size(), index(1));
  auto loop = scf::ParallelOp::create(*this, zeros, sizes, ones);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  if (work)
    described.push_back(kernel::WorkOp::create(*this, TypeRange(), amounts, work.getValue()));
  body(loop.getInductionVars());
}

void Loops::once(function_ref<void()> body) {
  threads(index(1), [&](ValueRange) { body(); });
}

Values Loops::loop(Value from, Value to, ValueRange values,
                   function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, from, to, index(1), values);
  InsertionGuard guard(*this);
  Block *block = loop.getBody();
  if (!block->empty()) // a loop without values has its end already
    setInsertionPoint(block->getTerminator());
  else
    setInsertionPointToStart(block);
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!values.empty())
    scf::YieldOp::create(*this, next);
  return loop.getResults();
}

void Loops::forEach(Value from, Value to, function_ref<void(Value)> body) {
  loop(from, to, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void Loops::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPoint(op.thenBlock()->getTerminator());
  body();
}

Values Loops::ifElse(Value condition, function_ref<Values()> then,
                     function_ref<Values()> otherwise) {
  // The bodies are written by this builder, where that of the op stands.
  auto inside = [&](function_ref<Values()> body) {
    return [&, body](OpBuilder &builder, Location loc) {
      InsertionGuard guard(*this);
      restoreInsertionPoint(builder.saveInsertionPoint());
      Values values = body();
      builder.restoreInsertionPoint(saveInsertionPoint());
      scf::YieldOp::create(builder, loc, values);
    };
  };
  return scf::IfOp::create(*this, condition, inside(then), inside(otherwise)).getResults();
}

Value Loops::sum(int64_t count, function_ref<Value(Value)> term) {
  // Of parts: the error grows with the number of additions one after another.
  constexpr int64_t parts = 8;
  int64_t whole = count / parts;
  Values sums(std::min(count, parts), scalar(0));
  auto addTo = [&](ValueRange to, Value first, int64_t terms) {
    Values next(to);
    for (int64_t j = 0; j < terms; ++j)
      next[j] = addf(next[j], term(add(first, j)));
    return next;
  };
  if (whole)
    sums = loop(index(0), index(whole), sums,
                [&](Value i, ValueRange values) { return addTo(values, mul(i, parts), parts); });
  sums = addTo(sums, index(whole * parts), count % parts);
  while (sums.size() > 1) {
    for (size_t j = 0; j < sums.size() / 2; ++j)
      sums[j] = addf(sums[j], sums[sums.size() - 1 - j]);
    sums.truncate((sums.size() + 1) / 2);
  }
  return sums.front();
}

Value Loops::sum(Value count, function_ref<Value(Value i)> term) {
  Value block = index(64), zero = index(0), none = scalar(0);
  Value blocks = div(add(count, 63), block);
  return loop(zero, blocks, none, [&](Value number, ValueRange total) {
    Value first = mul(number, block), end = min(add(first, block), count);
    Value part = loop(first, end, none, [&](Value i, ValueRange before) {
      return Values{addf(before[0], term(i))};
    })[0];
    return Values{addf(total[0], part)};
  })[0];
}
