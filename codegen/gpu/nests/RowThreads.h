//===- RowThreads.h - threads that share a row ------------------*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_ROWTHREADS_H
#define CODEGEN_GPU_NESTS_ROWTHREADS_H

#include "codegen/gpu/nests/Loops.h"
#include <functional>

namespace mlir::transformer::simt {

/// Numbers of a row: in registers, where a thread has few of them, else read whenever they are
/// asked for.
struct RowNumbers {
  int64_t count;
  std::function<Value(Value i)> read;
  Values held; // a thread's, one after the other; the last may be none
};

/// The threads of a block, which have a row together: neighbours have neighbouring numbers of it,
/// and each has the same ones in whatever it does. Where nothing is known of blocks one thread has
/// all of the row. All of them come to each call, with the same count.
class RowThreads {
public:
  /// Of `term`, f32, below `count`; all threads get it. The order is the count's alone.
  Value sum(int64_t count, function_ref<Value(Value i)> term);
  /// The largest.
  Value max(int64_t count, function_ref<Value(Value i)> term);
  /// Each i below `count` by one thread.
  void forEach(int64_t count, function_ref<void(Value i)> body);
  /// What `read` gives below `count`, from now on. It reads nothing that other threads write.
  RowNumbers hold(int64_t count, std::function<Value(Value i)> read);
  /// As above, of numbers and their places.
  Value sum(const RowNumbers &numbers, function_ref<Value(Value x, Value i)> term);
  void forEach(const RowNumbers &numbers, function_ref<void(Value x, Value i)> body);
  /// With others of the same count, which are held where `numbers` are.
  void forEach(const RowNumbers &numbers, ArrayRef<RowNumbers> others,
               function_ref<void(Value x, ValueRange others, Value i)> body);
  /// By one thread.
  void once(function_ref<void()> body);

private:
  friend void rows(Loops &b, ValueRange sizes, int64_t width,
                   function_ref<void(ValueRange at, RowThreads &row)> body);
  using Combine = function_ref<Value(Value, Value)>;
  RowThreads(Loops &b, int64_t threads, Value thread, Value memory)
      : b(b), threads(threads), thread(thread), memory(memory) {}

  /// `term` of a thread's numbers, `none` where it has none.
  Value ofThread(int64_t count, Value none, function_ref<Value(Value i)> term, Combine combine);
  Value ofAll(Value ofThread, Combine combine);
  /// Whether a thread has a `turn`-th number; null: all threads have.
  Value isThere(int64_t count, int64_t turn);

  Loops &b;
  int64_t threads;
  Value thread, memory; // null: there is one thread; a number for each warp
};

/// Threads for each place below `sizes`, a row of about `width` numbers.
void rows(Loops &b, ValueRange sizes, int64_t width,
          function_ref<void(ValueRange at, RowThreads &row)> body);

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_ROWTHREADS_H
