//===- AttentionPages.cpp - keys and values in the pages of a cache -------===//
//
// A page of P positions holds, for each head, its keys as panels
// [P / NR][headDim][NR], which the score tile reads as they are, then for each
// head its values [P][headDim].
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/NestWork.h"
#include "codegen/cpu/nests/Rows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::transformer;

static int64_t pageSizeOf(Value cache) {
  return cast<MemRefType>(cache.getType()).getDimSize(1) / 2;
}

/// Whole panels in a page: a page is then a block of keys.
static void checkPageSize(Operation *op, int64_t size, int64_t panelColumns) {
  if (size % panelColumns)
    op->emitError() << "expected pages of a multiple of " << panelColumns << " positions, found "
                    << size;
}

AttentionNest::AttentionNest(Emit &b, kernel::PagedAttentionOp op)
    : b(b), heads(op.getNumHeads()), kvHeads(op.getNumKvHeads()),
      headDim(rowWidth(op.getQ()) / heads), tileRows(b.target.tileRows()),
      vectors(b.target.tileVectors()), panelColumns(b.target.panelColumns()),
      causal(op.getOptions().getCausal()), cross(true), window(op.getOptions().getWindow()),
      scale(op.getScale().convertToDouble()), q(op.getQ()), queryOffsets(op.getCu()),
      scaleFactor(op.getScaleFactor()), bias(op.getPositionBias()), out(op.getOuts()[0]),
      pages(KeyPages{op.getCache(), op.getTable(), op.getLengths(), pageSizeOf(op.getCache())}) {
  setSizes();
}

/// `count` elements of the cache from `first` on, in a static shape.
static Value viewOf(Emit &b, Value elements, Value first, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  SmallVector<OpFoldResult> offsets = {first}, sizes = {b.getIndexAttr(count)},
                            strides = {b.getIndexAttr(1)};
  Value part = memref::SubViewOp::create(b, elements, offsets, sizes, strides);
  ReassociationIndices all;
  for (size_t i = 0; i < shape.size(); ++i)
    all.push_back(static_cast<int64_t>(i));
  return memref::ExpandShapeOp::create(b, shape, part, ArrayRef<ReassociationIndices>(all));
}

/// All elements of a cache in a row.
static Value flatten(Emit &b, Value cache) {
  return memref::CollapseShapeOp::create(b, cache, ArrayRef<ReassociationIndices>{{0, 1, 2}});
}

static Value pageOf(Emit &b, Value table, Value sequence, Value position, int64_t size) {
  Value page = b.load(table, {sequence, b.div(position, size)});
  return arith::IndexCastOp::create(b, b.getIndexType(), page);
}

void AttentionNest::findPage(Place &place) {
  int64_t half = pages->size * kvHeads * headDim;
  Value page = pageOf(b, pages->table, place.sequence, place.block, pages->size);
  Value elements = flatten(b, pages->cache);
  Value first = b.add(b.mul(page, 2 * half), b.mul(place.kvHead, pages->size * headDim));
  place.keyPanels = viewOf(b, elements, first, {pages->size / panelColumns, headDim, panelColumns});
  place.values = viewOf(b, elements, b.add(first, half), {pages->size, headDim});
  place.firstValue = place.valueColumn = b.index(0);
}

void transformer::emitNest(Emit &b, kernel::PagedAttentionOp op) {
  checkPageSize(op, pageSizeOf(op.getCache()), b.target.panelColumns());
  AttentionNest(b, op).emit();
}

/// A task takes some of the new tokens.
void transformer::emitNest(Emit &b, kernel::AppendPagesOp op) {
  Value k = op.getK(), v = op.getV(), cu = op.getCu(), cache = op.getOuts()[0];
  int64_t width = rowWidth(k), heads = op.getNumHeads(), headDim = width / heads;
  int64_t size = pageSizeOf(cache), half = size * width, columns = b.target.panelColumns();
  checkPageSize(op, size, columns);
  int64_t tokensOfTask = Emit::itemsPerTask(4 * width); // keys go element by element
  Value rows = b.dim(k, 0), batch = b.sub(b.dim(cu, 0), b.index(1));
  b.parallel(rowWork("append_pages", "tokens", width, 4), rows, b.ceilDiv(rows, tokensOfTask),
             [&](Value task) {
               Value elements = flatten(b, cache);
               auto [lower, upper] = taskRange(b, task, tokensOfTask, rows);
               b.forEach(lower, upper, 1, [&](Value row) {
                 Value sequence = b.findSegment(batch, row, [&](Value s) { return b.load(cu, s); });
                 Value length = arith::IndexCastOp::create(b, b.getIndexType(),
                                                           b.load(op.getLengths(), sequence));
                 Value behind = b.sub(b.load(cu, b.add(sequence, 1)), row);
                 Value position = b.sub(length, behind);
                 Value page = pageOf(b, op.getTable(), sequence, position, size);
                 Value place = b.rem(position, b.index(size));
                 Value first = b.mul(page, 2 * half);
                 // The first element of the key; the others are a panel's columns apart.
                 Value key = b.add(b.add(first, b.mul(b.div(place, columns), headDim * columns)),
                                   b.rem(place, b.index(columns)));
                 Value value = b.add(b.add(first, half), b.mul(place, headDim));
                 b.forEach(b.index(0), b.index(heads), 1, [&](Value head) {
                   Value column = b.mul(head, headDim), at = b.mul(head, size * headDim);
                   Value keyOfHead = b.add(key, at), valueOfHead = b.add(value, at);
                   b.forEach(b.index(0), b.index(headDim), 1, [&](Value d) {
                     Value x = b.load(k, {row, b.add(column, d)});
                     b.store(x, elements, b.add(keyOfHead, b.mul(d, columns)));
                   });
                   sweepRow(b, headDim, {}, [&](Value d, int64_t lanes, Value) {
                     Value x = b.loadVector(v, {row, b.add(column, d)}, lanes);
                     b.storeVector(x, elements, b.add(valueOfHead, d), lanes);
                     return Value();
                   });
                 });
               });
             });
}
