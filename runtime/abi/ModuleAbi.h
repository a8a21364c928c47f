//===- ModuleAbi.h - what a compiled module and the runtime agree on ------===//
//
// A compiled module exports one symbol, `transformer_module`, of type
// tr_module. Everything about it that is data (parameters, entry points,
// shapes, the target) stands in the JSON text that the struct points to;
// docs/module-abi.md holds its schema. Everything that is code is in the
// function table. The host (our executable or transformer-run) provides the
// functions declared at the end of this file.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_MODULEABI_H
#define TRANSFORMER_RUNTIME_MODULEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TR_MODULE_MAGIC 0x524D5254u /* "TRMR" */
#define TR_ABI_VERSION 5u
#define TR_MAX_RANK 8
#define TR_MAX_AMOUNTS 4

/// A dense row-major tensor in memory. `data` is 64-byte aligned; sizes beyond the rank are 1.
typedef struct {
  void *data;
  int64_t sizes[TR_MAX_RANK];
} tr_tensor;

/// Bytes of scratch memory that a call with these tensors needs. `slots` and
/// `io` are those of the call; output data pointers may be null.
typedef int64_t (*tr_arena_fn)(const void *const *slots, const tr_tensor *io);

/// Executes an entry point or a prepare function.
/// slots: pointers to the module's parameter slots (an entry point) or to the
///        sources (a prepare function), in the order the description gives. Prepared tensors
///        are 64-byte aligned; parameters are used where the weights file is mapped and are
///        aligned to their elements (4 bytes for f32) only;
/// io:    the inputs, the states, which the call updates where they lie, then the outputs (a
///        prepare function: the one result);
/// arena: 64-byte aligned scratch of at least the arena function's bytes.
typedef void (*tr_call_fn)(const void *const *slots, const tr_tensor *io, void *arena);

typedef struct {
  tr_call_fn call;
  tr_arena_fn arena_bytes;
} tr_function;

typedef struct {
  uint32_t magic;            /* TR_MODULE_MAGIC */
  uint32_t abi_version;      /* TR_ABI_VERSION */
  const char *description;   /* JSON, UTF-8, not null-terminated */
  uint64_t description_size; /* bytes of the JSON */
  uint64_t tokenizer_size;   /* bytes of the tokenizer's JSON behind it; 0: none */
  uint64_t description_hash; /* XXH3, 64 bits, no seed, of the JSON and the tokenizer */
  const tr_function *functions;
  uint64_t num_functions;
} tr_module;

/// The kernels of a module for a GPU. Each image is there as a whole or not at all (null, 0).
typedef struct {
  const char *ptx;            /* text, with a zero at its end */
  uint64_t ptx_size;          /* bytes, that zero included */
  const void *cubin;          /* machine code of the target's architecture; 64-byte aligned */
  uint64_t cubin_size;        /* bytes */
  const char *const *kernels; /* names, by the number that tr_launch gets */
  uint64_t num_kernels;
  uint64_t waits; /* 1: each kernel waits for those before it, and may be started while they run */
} tr_device_code;

/// What `transformer_module` is where the description's `target` has a `kind`: slots, inputs,
/// states, outputs and the arena lie in the device's memory, and functions launch kernels there.
typedef struct {
  tr_module module;
  const tr_device_code *device;
} tr_device_module;

/* Provided by the host to the module. */

typedef void (*tr_task_fn)(void *context, int64_t index);

/// What a parallel loop does, for profiles: constant data of the module. Amounts
/// are what is known only when the loop starts: tokens, sequences, pairs of
/// query and key.
typedef struct {
  const char *label;   /* what the work is, for example "linear 768x3072 gelu" */
  const char *layer;   /* the layer, where the work itself knows it; null: tr_scope's */
  const char *shape;   /* for example "tokens={} K=768 N=3072": each {} stands for an amount */
  int64_t num_amounts; /* at most TR_MAX_AMOUNTS */
  int64_t flops[TR_MAX_AMOUNTS]; /* floating point operations for each one of an amount */
  int64_t bytes[TR_MAX_AMOUNTS]; /* bytes of tensors read and written for each one of an amount */
  int64_t fixed_bytes;           /* and whatever the amounts are: weights */
} tr_work;

/// Calls task(context, i) once for every 0 <= i < count, on the host's
/// threads, and returns when all calls have returned. `work` (static, may be
/// null) and its `amounts` (read during the call only) say in a profile what
/// was done.
void tr_parallel_for(tr_task_fn task, void *context, int64_t count, const tr_work *work,
                     const int64_t *amounts);

/// The sizes of a launch.
typedef struct {
  int64_t blocks[3], threads[3]; /* x, y, z */
  int64_t shared_bytes;          /* dynamic shared memory of a block */
} tr_grid;

/// Queues a kernel of the module behind all that has been queued. `arguments` points to a value for
/// each of its parameters; values and grid are read during the call only. What goes wrong is told
/// by who called the function; once something has, nothing more is launched. `work` and `amounts`
/// are those of tr_parallel_for.
void tr_launch(int64_t kernel, const tr_grid *grid, void *const *arguments, const tr_work *work,
               const int64_t *amounts);

/// Of a matrix of numbers of 16 bits in the device's memory whose rows begin every `row_stride`
/// numbers: what the value of a kernel's parameter of 128 bytes points to, by which its blocks copy
/// boxes of `box_rows` rows (at most 256) and 64 columns, as they are, with zeros outside of the
/// matrix, in the order of the 128-byte swizzle. The first number's address and the rows' bytes are
/// multiples of 16. Valid until the function that is called returns.
const void *tr_tensor_map(const void *matrix, int64_t rows, int64_t columns, int64_t row_stride,
                          int64_t box_rows);

/// How many multiprocessors the device has.
int64_t tr_multiprocessors(void);

/// Names the layer that the following work belongs to (a static string; null:
/// back to the entry point itself). Only the calling thread of an entry point
/// uses it.
void tr_scope(const char *name);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // TRANSFORMER_RUNTIME_MODULEABI_H
