//===- NarrowWeight.cpp - weights to narrow numbers -----------------------===//
#include "codegen/cpu/nests/NarrowWeight.h"
#include "codegen/cpu/linear/Int4.h"
#include "codegen/cpu/linear/Integers.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

Values WeightReader::read(Value panel, int64_t column, int64_t width, Value first,
                          int64_t count) const {
  Values rows;
  int64_t lanes = b.lanes();
  Value output = b.add(b.mul(panel, columns), column);
  if (layout == WeightLayout::InOut) {
    int64_t there = std::clamp<int64_t>(width - column, 0, lanes);
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(there ? b.loadVector(weight, {b.add(first, i), output}, there) : b.splat(0));
    return rows;
  }
  for (int64_t i = 0; i < lanes; ++i)
    rows.push_back(column + i < width ? b.loadVector(weight, {b.add(output, i), first}, count)
                                      : b.splat(0));
  b.transposeSquare(rows);
  rows.resize(count);
  return rows;
}

namespace {

VectorType integers(Emit &b) { return b.vectorType().clone(b.getI32Type()); }
Value bitsOf(Emit &b, Value x) { return arith::BitcastOp::create(b, integers(b), x); }
Value floatOf(Emit &b, Value bits) { return arith::BitcastOp::create(b, b.vectorType(), bits); }
Value integer(Emit &b, int32_t value) { return integerConstant(b, b.vectorType(), value); }
Value shiftRight(Emit &b, Value x, int32_t count) {
  return arith::ShRUIOp::create(b, x, integer(b, count));
}
Value isNan(Emit &b, Value x) { return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x); }

/// The upper half of each word is the bfloat16 nearest to x, ties to even; the lower half is
/// anything.
Value roundToUpperHalf(Emit &b, Value x) {
  constexpr int32_t half = 0x7fff, quiet = 1 << 22;
  Value bits = bitsOf(b, x), even = b.both(shiftRight(b, bits, 16), integer(b, 1));
  Value rounded = b.add(b.add(bits, integer(b, half)), even);
  return b.select(isNan(b, x), b.either(bits, integer(b, quiet)), rounded);
}

/// x / scale to the nearest integer of `least .. most`, ties to even, plus `offset`, in the low
/// bits of each word; what is no number counts as zero.
Value quantize(Emit &b, Value x, Value scale, double least, double most, double offset) {
  constexpr double one = 12582912; // 3 2^22: the last place of a float of this size is 1
  Value quotient = b.divf(x, scale);
  quotient = b.select(isNan(b, quotient), b.splat(0), quotient);
  quotient = emitMin(b, emitMax(b, quotient, b.splat(least)), b.splat(most));
  return bitsOf(b, b.addf(b.addf(quotient, b.splat(one)), b.splat(offset)));
}

/// The scales of one vector of columns of a panel.
struct ColumnScales {
  WeightReader reader;
  WeightFormat format;
  Value scales, to;

  Emit &b() const { return reader.b; }

  /// Largest bits of an absolute value, largest and least value so far: of no inputs.
  Values start() const { return {integer(b(), 0), b().splat(0), b().splat(0)}; }

  Values add(ValueRange rows, Values so) const {
    for (Value w : rows) {
      Value absolute = b().both(bitsOf(b(), w), integer(b(), 0x7fffffff));
      so[0] = arith::MaxSIOp::create(b(), so[0], absolute);
      so[1] = emitMax(b(), w, so[1]);
      so[2] = emitMin(b(), w, so[2]);
    }
    return so;
  }

  /// The scale of `count` inputs from `first` on.
  void emit(Value panel, int64_t column, int64_t width, Value group, Value first,
            int64_t count) const {
    int64_t lanes = b().lanes(), whole = count / lanes * lanes;
    auto block = [&](Value from, int64_t size, ValueRange so) {
      return add(reader.read(panel, column, width, from, size), Values(so));
    };
    Values so = start();
    if (whole)
      so = b().loop(first, b().add(first, whole), lanes, so,
                    [&](Value from, ValueRange args) { return block(from, lanes, args); });
    if (whole < count)
      so = block(b().add(first, whole), count - whole, so);
    store(scaleOf(so), {to, group, b().index(column)}, column);
  }

  Value scaleOf(ValueRange so) const {
    Value absolute = floatOf(b(), so[0]), scale;
    if (format == WeightFormat::Int8) {
      scale = b().divf(absolute, b().splat(127));
    } else {
      Value negative = arith::NegFOp::create(b(), so[2]);
      Value up = arith::CmpFOp::create(b(), arith::CmpFPredicate::OGE, so[1], negative);
      scale = b().divf(b().select(up, so[1], so[2]), b().splat(-8));
      Value upper = b().both(roundToUpperHalf(b(), scale), integer(b(), -0x10000));
      scale = floatOf(b(), upper);
    }
    return b().addf(scale, b().subf(absolute, absolute)); // NaN of an infinity
  }

  void store(Value scale, ValueRange at, int64_t column) const {
    if (format == WeightFormat::Int4)
      scale = emitToBf16(b(), scale);
    b().storeVector(scale, scales, at, std::min(b().lanes(), reader.columns - column));
  }
};

} // namespace

Value transformer::emitToBf16(Emit &b, Value x) {
  Value upper = shiftRight(b, roundToUpperHalf(b, x), 16);
  VectorType halves = b.vectorType().clone(b.getI16Type());
  return arith::BitcastOp::create(b, b.vectorType().clone(b.getBF16Type()),
                                  arith::TruncIOp::create(b, halves, upper));
}

Value transformer::emitToInt8(Emit &b, Value x, Value scale) {
  return arith::TruncIOp::create(b, b.vectorType().clone(b.getI8Type()),
                                 quantize(b, x, scale, -127, 127, 0));
}

Values transformer::emitToInt8Words(Emit &b, ValueRange x, Value scale) {
  Values words;
  for (size_t i = 0; i < x.size(); ++i) {
    size_t place = i % (2 * integers::kBytes), byte = place / 2;
    if (place == 0)
      words.append(2, integer(b, 0));
    Value q = quantize(b, x[i], scale, -127, 127, integers::kInt8Offset);
    q = arith::ShLIOp::create(b, b.both(q, integer(b, 255)),
                              integer(b, 8 * static_cast<int32_t>(byte)));
    Value &word = words[words.size() - 2 + place % 2];
    word = b.either(word, q);
  }
  return words;
}

Values transformer::emitToInt4(Emit &b, ValueRange x, Value scale) {
  Values words;
  for (size_t i = 0; i < x.size(); ++i) {
    Value nibble = b.both(quantize(b, x[i], scale, -8, 7, 8), integer(b, 15));
    if (size_t u = i % int4::kWord)
      words.back() = b.either(
          words.back(), arith::ShLIOp::create(b, nibble, integer(b, 4 * static_cast<int32_t>(u))));
    else
      words.push_back(nibble);
  }
  return words;
}

void transformer::emitNest(Emit &b, cpu::WeightScalesOp op) {
  Value scales = op.getOuts()[0];
  auto type = cast<MemRefType>(scales.getType());
  int64_t groups = type.getDimSize(1), columns = type.getDimSize(2), firstPanel = 0;
  for (Value weight : op.getWeights()) {
    WeightReader reader{b, weight, op.getLayout(), columns};
    int64_t k = reader.inputs(), outputs = reader.outputs(), size = k;
    if (op.getFormat() == WeightFormat::Int4)
      size = weightGroup;
    int64_t whole = k / size, count = llvm::divideCeil(outputs, columns);
    std::string inputs = std::to_string(k), width = std::to_string(outputs);
    Work work{"weight_scales " + inputs + "x" + width, "K=" + inputs + " N=" + width, {}};
    work.fixedBytes = outputs * rowBytes(k);
    auto panelScales = [&](Value panel, int64_t existing) {
      ColumnScales part{reader, op.getFormat(), scales, b.add(panel, firstPanel)};
      for (int64_t column = 0; column < columns; column += b.lanes()) {
        b.forEach(b.index(0), b.index(whole), 1, [&](Value group) {
          part.emit(panel, column, existing, group, b.mul(group, size), size);
        });
        if (whole < groups)
          part.emit(panel, column, existing, b.index(whole), b.index(whole * size),
                    k - whole * size);
      }
    };
    b.parallel(work, {}, b.index(count), [&](Value panel) {
      int64_t full = outputs / columns;
      if (full)
        b.ifThen(b.lt(panel, b.index(full)), [&] { panelScales(panel, columns); });
      if (full < count)
        b.ifThen(b.eq(panel, b.index(full)), [&] { panelScales(panel, outputs - full * columns); });
    });
    firstPanel += outputs / columns;
  }
}
