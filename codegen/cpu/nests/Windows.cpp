//===- Windows.cpp - rows from pixels and from neighbouring rows ----------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::UniformSequencesOp op) {
  Value cu = op.getOuts()[0], places = op.getOuts()[1], zero = b.index(0);
  auto length = static_cast<int64_t>(op.getLength());
  b.forEach(zero, b.dim(cu, 0), 1, [&](Value i) { b.store(b.mul(i, length), cu, i); });
  b.forEach(zero, b.dim(places, 0), 1, [&](Value i) { b.store(i, places, i); });
}

void transformer::emitNest(Emit &b, kernel::TokenColumnsOp op) {
  Value places = op.getRows(), result = op.getOuts()[0];
  b.forEach(b.index(0), b.dim(result, 0), 1, [&](Value row) {
    Value column = b.rem(b.load(places, row), op.getLength());
    b.store(arith::IndexCastOp::create(b, b.getI64Type(), column), result, row);
  });
}

/// `width` columns of `source` behind `from` to those of `result` behind `to`.
static void copyColumns(Emit &b, int64_t width, Value source, ValueRange from, Value result,
                        ValueRange to) {
  auto behind = [&](ValueRange at, Value column) {
    Values moved(at);
    moved.back() = b.add(moved.back(), column);
    return moved;
  };
  sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
    Value x = b.loadVector(source, behind(from, column), lanes);
    b.storeVector(x, result, behind(to, column), lanes);
    return Value();
  });
}

void transformer::emitNest(Emit &b, kernel::PatchesOp op) {
  Value x = op.getX(), places = op.getRows(), result = op.getOuts()[0];
  auto first = static_cast<int64_t>(op.getFirst());
  kernel::PatchesOp::Sizes of = op.sizes();
  int64_t width = rowWidth(result), size = Emit::itemsPerTask(width);
  Value tokens = b.dim(result, 0), zero = b.index(0);
  auto copyPatch = [&](Value row, Value image, Value patch) {
    Value top = b.mul(b.div(patch, of.columns()), of.down);
    Value left = b.mul(b.rem(patch, b.index(of.columns())), of.across);
    b.forEach(zero, b.index(of.channels), 1, [&](Value channel) {
      b.forEach(zero, b.index(of.down), 1, [&](Value line) {
        Values from = {image, channel};
        if (op.getSizes().size() == 2)
          from.push_back(b.add(top, line));
        from.push_back(left);
        Value column = b.mul(b.add(b.mul(channel, of.down), line), of.across);
        copyColumns(b, of.across, x, from, result, {row, column});
      });
    });
  };
  b.parallel(rowWork("patches", "tokens", width, 2), tokens, b.ceilDiv(tokens, size),
             [&](Value task) {
               auto [lower, upper] = taskRange(b, task, size, tokens);
               b.forEach(lower, upper, 1, [&](Value row) {
                 int64_t length = first + of.patches();
                 Value place = b.load(places, row), at = b.rem(place, b.index(length));
                 Value image = b.div(place, length);
                 if (first == 0)
                   return copyPatch(row, image, at);
                 auto copy = [&] {
                   copyPatch(row, image, b.sub(at, b.index(first)));
                   return Values();
                 };
                 auto clear = [&] {
                   zeroRow(b, width, result, row);
                   return Values();
                 };
                 b.ifElse(b.lt(at, b.index(first)), TypeRange(), clear, copy);
               });
             });
}

void transformer::emitNest(Emit &b, kernel::WindowsOp op) {
  Value x = op.getX(), cu = op.getCu(), cuResult = op.getCuResult(), result = op.getOuts()[0];
  int64_t width = rowWidth(x), kernel = rowWidth(result) / width;
  auto stride = static_cast<int64_t>(op.getStride()),
       padding = static_cast<int64_t>(op.getPadding());
  int64_t size = Emit::itemsPerTask(kernel * width);
  Value tokens = b.dim(result, 0), batch = b.sub(b.dim(cu, 0), b.index(1));
  b.parallel(
      rowWork("windows", "tokens", kernel * width, 2), tokens, b.ceilDiv(tokens, size),
      [&](Value task) {
        auto [lower, upper] = taskRange(b, task, size, tokens);
        b.forEach(lower, upper, 1, [&](Value row) {
          Value sequence = b.findSegment(batch, row, [&](Value s) { return b.load(cuResult, s); });
          Value firstRow = b.load(cu, sequence);
          Value count = b.sub(b.load(cu, b.add(sequence, 1)), firstRow);
          Value at = b.mul(b.sub(row, b.load(cuResult, sequence)), stride);
          for (int64_t j = 0; j < kernel; ++j) {
            // Unsigned: what is before the first token is a large number.
            Value token = b.sub(b.add(at, j), b.index(padding));
            Value column = b.index(j * width);
            auto copy = [&] {
              copyColumns(b, width, x, {b.add(firstRow, token), b.index(0)}, result, {row, column});
              return Values();
            };
            auto clear = [&] {
              zeroColumns(b, width, result, row, column);
              return Values();
            };
            b.ifElse(b.lt(token, count), TypeRange(), copy, clear);
          }
        });
      });
}

void transformer::emitNest(Emit &b, kernel::WindowsGradientOp op) {
  Value dy = op.getDy(), cu = op.getCu(), cuDy = op.getCuDy(), result = op.getOuts()[0];
  int64_t width = rowWidth(result), kernel = rowWidth(dy) / width;
  auto stride = static_cast<int64_t>(op.getStride()),
       padding = static_cast<int64_t>(op.getPadding());
  int64_t size = Emit::itemsPerTask(kernel * width);
  Value tokens = b.dim(result, 0), batch = b.sub(b.dim(cu, 0), b.index(1));
  b.parallel(rowWork("windows_gradient", "tokens", kernel * width, 2), tokens,
             b.ceilDiv(tokens, size), [&](Value task) {
               auto [lower, upper] = taskRange(b, task, size, tokens);
               b.forEach(lower, upper, 1, [&](Value row) {
                 Value sequence = b.findSegment(batch, row, [&](Value s) { return b.load(cu, s); });
                 Value firstWindow = b.load(cuDy, sequence);
                 Value count = b.sub(b.load(cuDy, b.add(sequence, 1)), firstWindow);
                 Value at = b.add(b.sub(row, b.load(cu, sequence)), padding);
                 zeroRow(b, width, result, row);
                 for (int64_t j = kernel - 1; j >= 0; --j) { // the token's place in a window
                   // Unsigned: what is before the first window is a large number.
                   Value first = b.sub(at, b.index(j)), window = b.div(first, stride);
                   Value reads = b.lt(window, count);
                   if (stride > 1)
                     reads = b.both(reads, b.eq(b.mul(window, stride), first));
                   b.ifThen(reads, [&] {
                     Value from = b.add(firstWindow, window);
                     sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
                       Value x = b.loadVector(dy, {from, b.add(column, j * width)}, lanes);
                       Value sum = b.loadVector(result, {row, column}, lanes);
                       b.storeVector(b.addf(sum, x), result, {row, column}, lanes);
                       return Value();
                     });
                   });
                 }
               });
             });
}
