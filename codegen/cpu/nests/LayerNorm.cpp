//===- LayerNorm.cpp - layer normalisation, with or without a residual ----===//
//
// Three sweeps over a row that stays in the first-level cache: the sum (of
// x + residual, which is stored on the way), the squares around the mean, the
// result. The first sweep fetches the next row, which is otherwise waited for:
// the sweeps behind it depend on each other and fill the reorder buffer. A root
// mean square takes two: the first one sums squares.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/Bfloat16.h"
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::LayerNormOp op) {
  Value x = op.getX(), result = op.getOuts()[0];
  Value residual = op.getResidual().empty() ? Value() : op.getResidual().front();
  Value sumOut = op.getSum(), rounded = op.getRounded();
  int64_t width = rowWidth(x), part = rowWidth(op.getGamma()), size = Emit::itemsPerTask(width);
  NormInputs inputs{op.getGamma(), op.getBeta(), op.getNorm()};
  // Where the later sweeps find the row.
  Value stored = sumOut ? sumOut : residual ? result : Value();
  Value source = stored ? stored : x;
  Value rows = b.dim(x, 0);
  int64_t buffers = 1 + op.getResidual().size() + op.getOuts().size();
  Work work =
      rowWork(op.getRms() ? "rms_norm" : "layer_norm", "tokens", width, buffers, op.getGamma());
  work.fixedBytes = (op.getRms() ? 1 : 2) * rowBytes(part); // gamma and beta
  auto emitPart = [&](Value row, Value first) {
    auto store = [&](Value x, Value column, int64_t lanes) {
      storeColumns(b, x, result, row, column, lanes);
      if (rounded)
        storeColumns(b, x, rounded, row, column, lanes);
    };
    Value next = b.add(row, 1);
    Value sum = sumRow(b, part, [&](Value offset, int64_t lanes, Value accumulator) {
      Value column = b.add(first, offset);
      b.prefetchRow(x, next, column, lanes);
      if (residual)
        b.prefetchRow(residual, next, column, lanes);
      Value v = b.loadVector(x, {row, column}, lanes);
      if (residual)
        v = b.addf(v, b.loadVector(residual, {row, column}, lanes));
      if (stored)
        b.storeVector(v, stored, {row, column}, lanes);
      return op.getRms() ? emitFma(b, v, v, accumulator) : b.addf(accumulator, v);
    });
    if (op.getRms())
      divideRow(b, part, sum, source, row, first, inputs, store);
    else
      normalizeRow(b, part, sum, source, row, inputs, store);
  };
  b.parallel(work, rows, b.ceilDiv(rows, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, rows);
    b.forEach(lower, upper, 1, [&](Value row) {
      if (part == width)
        emitPart(row, b.index(0));
      else
        b.forEach(b.index(0), b.index(width), part, [&](Value first) { emitPart(row, first); });
    });
  });
}
