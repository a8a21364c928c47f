//===- Tables.cpp - sines and cosines of positions ------------------------===//
#include "codegen/gpu/nests/Doubles.h"
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

/// `values` as constants of the module's; element `i`.
Value element(Loops &b, ArrayRef<double> values, Value i) {
  auto type = MemRefType::get({static_cast<int64_t>(values.size())}, b.getF64Type());
  auto module = i.getParentRegion()->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned n = 0; name.empty() || SymbolTable::lookupSymbolIn(module, name); ++n)
    name = "frequencies_" + std::to_string(n);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto data =
        DenseElementsAttr::get(RankedTensorType::get(type.getShape(), b.getF64Type()), values);
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), type, data, /*constant=*/true,
                             IntegerAttr());
  }
  return b.load(memref::GetGlobalOp::create(b, type, name), i);
}

} // namespace

void transformer::simt::emitKernel(Loops &b, kernel::SinusoidalTableOp op) {
  Value result = op.getOuts()[0];
  int64_t width = rowWidth(result), sines = (width + 1) / 2;
  bool interleaved = op.getLayout() == SinusoidLayout::Interleaved;
  SmallVector<double> powers;
  for (int64_t i = 0; i < sines; ++i)
    powers.push_back(std::pow(10000.0, 2.0 * double(i) / double(width)));
  b.threads({b.dim(result, 0), b.index(sines)}, [&](ValueRange at) {
    Value angle = b.divf(b.toReal(at[0]), element(b, powers, at[1]));
    auto [sine, cosine] = emitSineAndCosine(b, angle);
    Value sineColumn = interleaved ? b.mul(at[1], 2) : at[1];
    Value cosineColumn = b.add(sineColumn, interleaved ? 1 : sines);
    b.store(b.narrow(sine), result, {at[0], sineColumn});
    b.ifThen(b.less(cosineColumn, b.index(width)), // an odd width has one sine more
             [&] { b.store(b.narrow(cosine), result, {at[0], cosineColumn}); });
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::RotaryTableOp op) {
  Value result = op.getOuts()[0], positions = op.getPositions();
  int64_t half = rowWidth(result) / 2;
  double scale = op.getScale().convertToDouble();
  b.threads({b.dim(result, 0), b.index(half)}, [&](ValueRange at) {
    Value position = b.toReal(b.load(positions, at[0]));
    Value angle = b.mulf(position, b.load(op.getFrequencies(), at[1]));
    auto [sine, cosine] = emitSineAndCosine(b, angle);
    b.store(b.narrow(b.mulf(cosine, b.real(scale))), result, at);
    b.store(b.narrow(b.mulf(sine, b.real(scale))), result, {at[0], b.add(at[1], half)});
  });
}

/// A thread a head: it writes a pair when it has read both.
void transformer::simt::emitKernel(Loops &b, kernel::RotaryEmbeddingOp op) {
  Value x = op.getX(), table = op.getTable(), result = op.getOuts()[0];
  int64_t heads = op.getNumHeads(), headDim = rowWidth(x) / heads;
  int64_t rotated = rowWidth(table), half = rotated / 2;
  // A thread a pair, or one of the columns behind them where these go elsewhere.
  int64_t others = x != result ? headDim - rotated : 0, ofHead = half + others;
  b.threads({b.dim(x, 0), b.index(heads * ofHead)}, [&](ValueRange at) {
    Value row = at[0], head = b.mul(b.div(at[1], ofHead), headDim), place = b.rem(at[1], ofHead);
    auto rotate = [&] {
      Value cosine = b.load(table, {row, place}), sine = b.load(table, {row, b.add(place, half)});
      if (op.getInverse())
        sine = arith::NegFOp::create(b, sine);
      Values first = {row, b.add(head, place)}, second = {row, b.add(first[1], half)};
      Value u = b.load(x, first), v = b.load(x, second);
      b.store(b.subf(b.mulf(u, cosine), b.mulf(v, sine)), result, first);
      b.store(b.addf(b.mulf(v, cosine), b.mulf(u, sine)), result, second);
    };
    if (!others)
      return rotate();
    b.ifThen(b.less(place, b.index(half)), rotate);
    b.ifThen(b.less(b.index(half - 1), place), [&] {
      Values to = {row, b.add(b.add(head, place), half)};
      b.store(b.load(x, to), result, to);
    });
  });
}
