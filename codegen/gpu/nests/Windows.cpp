//===- Windows.cpp - rows from pixels and from neighbouring rows ----------===//
#include "codegen/gpu/nests/Kernels.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

void transformer::simt::emitKernel(Loops &b, kernel::UniformSequencesOp op) {
  Value cu = op.getOuts()[0], places = op.getOuts()[1];
  auto length = static_cast<int64_t>(op.getLength());
  b.threads(b.dim(cu, 0), [&](ValueRange at) { b.store(b.mul(at[0], length), cu, at); });
  b.threads(b.dim(places, 0), [&](ValueRange at) { b.store(at[0], places, at); });
}

void transformer::simt::emitKernel(Loops &b, kernel::TokenColumnsOp op) {
  Value places = op.getRows(), result = op.getOuts()[0];
  b.threads(b.dim(result, 0), [&](ValueRange at) {
    Value column = b.rem(b.load(places, at), op.getLength());
    b.store(arith::IndexCastOp::create(b, b.getI64Type(), column), result, at);
  });
}

/// A thread a number, as in the kernels below.
void transformer::simt::emitKernel(Loops &b, kernel::PatchesOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  auto first = static_cast<int64_t>(op.getFirst());
  kernel::PatchesOp::Sizes of = op.sizes();
  b.threads({b.dim(result, 0), b.index(rowWidth(result))}, [&](ValueRange at) {
    Value place = b.load(op.getRows(), at[0]), length = b.index(first + of.patches());
    Value patch = b.sub(b.rem(place, length), b.index(first)); // negative before the first one
    b.store(b.scalar(0), result, at);
    b.ifThen(b.less(b.index(-1), patch), [&] {
      Value columns = b.index(of.columns()), across = b.index(of.across), down = b.index(of.down);
      Value line = b.div(at[1], across); // of all channels
      Values from = {b.div(place, length), b.div(line, down)};
      if (op.getSizes().size() == 2)
        from.push_back(b.add(b.mul(b.div(patch, columns), of.down), b.rem(line, down)));
      from.push_back(b.add(b.mul(b.rem(patch, columns), of.across), b.rem(at[1], across)));
      b.store(b.load(x, from), result, at);
    });
  });
}

void transformer::simt::emitKernel(Loops &b, kernel::WindowsOp op) {
  Value x = op.getX(), cu = op.getCu(), cuResult = op.getCuResult(), result = op.getOuts()[0];
  auto stride = static_cast<int64_t>(op.getStride()),
       padding = static_cast<int64_t>(op.getPadding());
  b.threads({b.dim(result, 0), b.index(rowWidth(result))}, [&](ValueRange at) {
    Value width = b.index(rowWidth(x)), sequence = sequenceOf(b, cuResult, at[0]);
    Value firstRow = b.load(cu, sequence), end = b.load(cu, b.add(sequence, 1));
    Value token = b.mul(b.sub(at[0], b.load(cuResult, sequence)), stride);
    Value row = b.sub(b.add(b.add(firstRow, token), b.div(at[1], width)), b.index(padding));
    b.store(b.scalar(0), result, at);
    b.ifThen(b.less(row, end), [&] {
      b.ifThen(b.less(b.sub(firstRow, b.index(1)), row),
               [&] { b.store(b.load(x, {row, b.rem(at[1], width)}), result, at); });
    });
  });
}
