//===- SinusoidalTable.cpp - the table of sinusoidal positions ------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::SinusoidalTableOp op) {
  Value result = op.getOuts()[0];
  int64_t width = rowWidth(result), sines = (width + 1) / 2;
  constexpr int64_t size = 16; // positions a task: each makes its own powers
  bool interleaved = op.getLayout() == SinusoidLayout::Interleaved;
  Type f64 = b.getF64Type();
  auto real = [&](double v) { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); };
  auto toReal = [&](Value v) -> Value {
    return arith::SIToFPOp::create(b, f64, arith::IndexCastOp::create(b, b.getI64Type(), v));
  };
  auto put = [&](Value v, Value row, Value column) {
    b.store(arith::TruncFOp::create(b, b.getF32Type(), v), result, {row, column});
  };
  Value rows = b.dim(result, 0);
  b.parallel(rowWork("sinusoidal_table", "positions", width, 1), rows, b.ceilDiv(rows, size),
             [&](Value task) {
               auto [lower, upper] = taskRange(b, task, size, rows);
               b.forEach(b.index(0), b.index(sines), 1, [&](Value pair) {
                 Value sineColumn = interleaved ? b.mul(pair, 2) : pair;
                 Value cosineColumn = b.add(sineColumn, interleaved ? 1 : sines);
                 Value exponent = b.divf(toReal(b.mul(pair, 2)), real(width));
                 Value power = math::PowFOp::create(b, real(10000.0), exponent);
                 b.forEach(lower, upper, 1, [&](Value row) {
                   Value angle = b.divf(toReal(row), power);
                   put(math::SinOp::create(b, angle), row, sineColumn);
                   auto cosine = [&] { put(math::CosOp::create(b, angle), row, cosineColumn); };
                   if (width % 2 == 0)
                     cosine();
                   else // an odd width has one sine more
                     b.ifThen(b.lt(cosineColumn, b.index(width)), cosine);
                 });
               });
             });
}
