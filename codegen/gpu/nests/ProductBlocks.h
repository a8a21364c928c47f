//===- ProductBlocks.h - matrix products by blocks of threads ---*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_PRODUCTBLOCKS_H
#define CODEGEN_GPU_NESTS_PRODUCTBLOCKS_H

#include "codegen/gpu/nests/ProductTiles.h"
#include "codegen/gpu/nests/TensorCores.h"

namespace mlir::transformer::simt {

/// Sums of a row at neighbouring columns from `at` on, a multiple of their number; null: they are
/// of the result whatever the thread.
struct SumsAt {
  Values sums, at;
  Value isThere;
};
/// What becomes of sums. All that they are joined with is read before any of it is written: a
/// thread then waits for memory once.
using Finish = function_ref<void(ArrayRef<SumsAt> places)>;
/// Calls `finish` for `count` places, `placeOf` the number of each, by threads that take turns, at
/// most `atOnce` of a thread's at a time.
void finishPlaces(Loops &b, Value thread, int64_t threads, int64_t count, Finish finish,
                  function_ref<SumsAt(Value number)> placeOf, int64_t atOnce = 4);

/// Emits kernels of blocks for the builder's target. A number of the result is one sum, along the
/// depth from its start, whichever tile it is in.
void emitProductBlocks(Loops &b, const Product &product, Finish finish);

/// Whether both operands are copied by boxes, by threads that do nothing else. This is decided by
/// the target and by types alone.
bool isStreamed(Loops &b, const Product &product);
/// The kernel for that, of many rows. The order of each sum is that of all products.
void emitProductStream(Loops &b, const Product &product, const ProductTile &tile, Finish finish);

/// The size of the product's loop.
Value depthOf(Loops &b, const Product &product);
/// The row and column of the `number`-th tile of as many as `counts` says: down the rows of a group
/// first, which are `size`.
std::pair<Value, Value> tileInGroups(Loops &b, Value number, ValueRange counts, int64_t size);

/// How a block's threads multiply what is in shared memory.
class TileProduct {
public:
  virtual ~TileProduct() = default;
  /// How many f32 a thread sums.
  virtual int64_t numSums() const = 0;
  /// Of the tile: none of the thread's sums is in a row before it.
  virtual Value firstRow() const = 0;
  /// Adds the products of a stage to `sums`.
  virtual Values add(ValueRange sums, Value stage) const = 0;
  /// How many of the latest stages may still be read when `add` has returned, or in it.
  virtual int64_t stagesInUse() const { return 1; }
  /// Before a barrier: what the thread has copied is there for what reads it.
  virtual void publish() const {}
  /// The sums when all has been added.
  virtual Values finish(ValueRange sums) const { return Values(sums); }
  /// Where in the tile each of them is.
  virtual void
  forEachPlace(function_ref<void(int64_t sum, Value row, Value column)> body) const = 0;
};

/// bf16, f16 or TF32, by warps on tensor cores.
std::unique_ptr<TileProduct> tensorCoreProduct(Loops &b, const ProductTile &tile, Value thread,
                                               const ProductTileOperand &left,
                                               const ProductTileOperand &right);

/// bf16 or f16, by warpgroups.
std::unique_ptr<TileProduct> warpgroupProduct(Loops &b, const ProductTile &tile, Value thread,
                                              const ProductTileOperand &left,
                                              const ProductTileOperand &right);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_PRODUCTBLOCKS_H
