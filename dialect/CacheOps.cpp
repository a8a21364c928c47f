//===- CacheOps.cpp - keys and values of earlier calls --------------------===//
#include "dialect/TransformerDialect.h"

using namespace mlir;
using namespace mlir::transformer;

/// An even number of rows a page: keys, then values.
static LogicalResult verifyPages(Operation *op, Value cache) {
  auto type = cast<RankedTensorType>(cache.getType());
  if (type.getDimSize(1) % 2)
    return op->emitOpError() << "expected a cache whose pages hold as many keys as values, found "
                             << type;
  return success();
}

static int64_t cacheWidth(Value cache) {
  return cast<RankedTensorType>(cache.getType()).getDimSize(2);
}

LogicalResult AppendPagesOp::verify() {
  int64_t width = widthOf(getK()), heads = getNumHeads();
  if (failed(verifyPages(*this, getCache())) || failed(verifyWidth(*this, "values", getV(), width)))
    return failure();
  if (cacheWidth(getCache()) != width)
    return emitOpError() << "expected a cache of width " << width << ", found "
                         << cacheWidth(getCache());
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  return success();
}

LogicalResult PagedAttentionOp::verify() {
  int64_t width = widthOf(getQ()), heads = getNumHeads(), kvHeads = getNumKvHeads();
  if (failed(verifyPages(*this, getCache())) ||
      failed(verifyWidth(*this, "a result", getResult(), width)))
    return failure();
  if (heads < 1 || width % heads)
    return emitOpError() << "expected num_heads that divides the width " << width << ", found "
                         << heads;
  if (kvHeads < 1 || heads % kvHeads)
    return emitOpError() << "expected num_kv_heads that divides num_heads = " << heads << ", found "
                         << kvHeads;
  if (cacheWidth(getCache()) != kvHeads * (width / heads))
    return emitOpError() << "expected a cache of width " << kvHeads * (width / heads) << ", found "
                         << cacheWidth(getCache());
  return verifyPositionBias(*this, getPositionBias(), heads);
}
