//===- Embedding.cpp - sums of table rows, optionally normalised ----------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"

using namespace mlir;
using namespace mlir::transformer;

void transformer::emitNest(Emit &b, kernel::EmbeddingOp op) {
  Value result = op.getOuts()[0];
  int64_t width = rowWidth(result), size = Emit::itemsPerTask(width);
  ArrayRef<double> scales = op.getScales();
  Value rows = b.dim(result, 0);
  int64_t tables = op.getTables().size();
  Work work = rowWork("embedding", "tokens", width, tables + 1, op.getTables().front());
  work.sizes += " tables=" + std::to_string(tables);
  work.fixedBytes = op.getNorm().size() * rowBytes(width);
  b.parallel(work, rows, b.ceilDiv(rows, size), [&](Value task) {
    auto [lower, upper] = taskRange(b, task, size, rows);
    b.forEach(lower, upper, 1, [&](Value row) {
      Values tableRows;
      for (Value ids : op.getIds()) {
        Value id = b.load(ids, row);
        if (!id.getType().isIndex())
          id = arith::IndexCastOp::create(b, b.getIndexType(), id);
        tableRows.push_back(id);
      }
      auto element = [&](Value column, int64_t lanes) {
        Value sum;
        for (auto [table, id, scale] : llvm::zip_equal(op.getTables(), tableRows, scales)) {
          Value v = b.loadVector(table, {id, column}, lanes);
          if (scale != 1.0)
            v = sum ? emitFma(b, v, b.splat(scale), sum) : b.mulf(v, b.splat(scale));
          else if (sum)
            v = b.addf(sum, v);
          sum = v;
        }
        b.storeVector(sum, result, {row, column}, lanes);
        return sum;
      };
      if (op.getNorm().empty()) {
        sweepRow(b, width, {}, [&](Value column, int64_t lanes, Value) {
          element(column, lanes);
          return Value();
        });
        return;
      }
      Value sum = sumRow(b, width, [&](Value column, int64_t lanes, Value accumulator) {
        return b.addf(accumulator, element(column, lanes));
      });
      normalizeRow(b, width, sum, result, row, {op.getNorm()[0], op.getNorm()[1], *op.getFormula()},
                   [&](Value x, Value column, int64_t lanes) {
                     b.storeVector(x, result, {row, column}, lanes);
                   });
    });
  });
}
