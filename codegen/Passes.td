//===- Passes.td - from the transformer dialect to a native program -------*- tablegen -*-===//

#ifndef CODEGEN_PASSES_TD
#define CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTransformerToLinalg : Pass<"transformer-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower the transformer dialect to linalg and destination-style kernels";
  let description = [{
    Every core op becomes linalg on tensors or one op of `transformer_kernel`:
    `linear` a `linalg.matmul` of zeros and the addition of its bias, activations
    and arithmetic on tensors elementwise ops on scalars.
    `!transformer.sequences` becomes two tensors of `index`, the offsets of the
    sequences and the place of every packed row, and the length of a padded row.
    Nothing here depends on a target.

    Composites must have been expanded. Fails, naming the op, if one of the
    transformer dialect's computing ops cannot be converted.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
}

def FuseElementwise : Pass<"transformer-fuse-elementwise", "::mlir::ModuleOp"> {
  let summary = "Fuse elementwise ops that read each other";
  let description = [{
    Upstream's elementwise fusion, where the first op has one reader that needs
    each of its numbers once: a bias, an activation and a residual behind a matrix
    product become one op. What is read once for every row (a bias that is
    computed from parameters) stays on its own.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def NormInPlace : Pass<"transformer-norm-in-place", "::mlir::ModuleOp"> {
  let summary = "Normalise rows where they stand";
  let description = [{
    A `transformer_kernel.layer_norm` that alone reads what an op before it has
    written to memory of its own writes its result, or its sum, there.
  }];
}

def PassDestinations : Pass<"transformer-pass-destinations", "::mlir::ModuleOp"> {
  let summary = "Give results of functions memory of the caller";
  let description = [{
    Each result of a function gets an argument of the same type, behind the
    others, that the result is written to; in place where the op that makes it
    has a destination, else by a copy. A call passes memory of its own for each
    of them, of the sizes that the called function computes, as far as they
    follow from its arguments:

    ```mlir
    func.func private @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %c0 = arith.constant 0 : index
      %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
      %init = tensor.empty(%rows) : tensor<?x4xf32>
      %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    }
    // becomes
    func.func private @layer(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%to : tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    }
    ```

    A result that is state (`transformer.state`) gets no argument: it is written to
    the argument that it updates. Arguments for an entry point's results have the
    attribute `transformer.output`.

    Fails, naming the function, for control flow, recursion, a function without a
    body, a result that is no tensor, and a size that only the call computes.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect"];
}

def EstimateSquares : Pass<"transformer-cpu-estimate-squares", "::mlir::ModuleOp"> {
  let summary = "What linear layers read: mean squares of its features, from weights";
  let description = [{
    In front of each `linalg.matmul` whose x comes from ops with weights of their
    own stands a `transformer_kernel.estimated` that says how large the squares of
    each feature of x are about:

    | x | mean square of feature i |
    |---|---|
    | a norm | `gamma[i]^2 + beta[i]^2` |
    | a product of z | `sum over k of w[i, k]^2 squares(z)[k]`, if known |
    | an activation of a variance v around b | half of v, plus `max(b, 0)^2`; tanh: `m / (1 + m)` of `m = v + b^2` |
    | attention | of the values |
    | an embedding | that of the table's columns |
    | a sum | the sum of both; a bias is its own mean |

    Features are taken as independent; sums over weights are those of a sample
    (`transformer_kernel.sample_squares`). A layer function gets the squares of
    its rows as arguments, behind its own, where every caller can tell them; what
    it returns is told from what it gets. All this depends on weights alone and
    moves to load time with `transformer-hoist-parameters`. Anything else is not
    known, and its reader is left as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
}

def PackLinear : Pass<"transformer-cpu-pack-linear", "::mlir::ModuleOp"> {
  let summary = "Matrix products on weights in panels, in the format that the target wants";
  let description = [{
    A `linalg.matmul` of zeros, rows `[T, K]` and a weight becomes a
    `transformer_kernel.pack_weight` (moved to load time by
    `transformer-hoist-parameters`), a contraction on panels over
    `[T, N / NR, NR, steps]` and one elementwise epilogue, which holds the
    elementwise op that alone read the product, if there is one. The order of the
    contraction's sum depends on K alone.

    What a step of the sum is, and what x and the weight become, is the format's
    (`codegen/cpu/linear/LinearFormat.h`): one product (`f32`), or Winograd's inner
    product (`winograd`), for which x goes through `winograd_rows` and
    the epilogue undoes the scales.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"native\"", "Target whose description gives formats and panels">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
}

def TileLinear : Pass<"transformer-cpu-tile-linear", "::mlir::ModuleOp"> {
  let summary = "Tile and fuse linear layers for a CPU's registers and caches";
  let description = [{
    For each contraction on panels and its epilogue: tasks of a block of rows by
    one panel, or by as many as make a task worth handing out (`scf.forall`, with
    the epilogue, contraction and fill fused), inside them register tiles of one
    panel, panels outside and rows inside so that a panel stays in the
    second-level cache. A panel too large for that goes in blocks of k, whose sums
    wait in memory. Rows that are left over go through tiles of half the rows (of
    four, where a full tile has six) down to one.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"native\"", "Target whose description gives the tile sizes">];
  let dependentDialects = ["::mlir::transformer::kernel::KernelDialect",
                           "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VectorizeLinear : Pass<"transformer-cpu-vectorize-linear", "::mlir::ModuleOp"> {
  let summary = "Register tiles of linear layers on vectors";
  let description = [{
    The contraction of a register tile becomes a loop over k, one fused
    multiply-add a row, whose accumulators it carries; its epilogue becomes vector
    arithmetic. k runs one by one from 0 to K - 1 in every tile, so that a row's
    result does not depend on the number of rows; with Winograd's inner product it
    runs step by step, in each for every row two pairs and two products. No marked
    linalg op is left.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect"];
}

def LowerPrepare : Pass<"transformer-cpu-lower-prepare", "::mlir::ModuleOp"> {
  let summary = "Prepare functions: destination passing, weights packed by a kernel";
  let description = [{
    The functions that `transformer.prepared` names take their result as an
    argument. `pack_weight`, where panels stay whole, and `winograd_scales` take the
    weights of a concatenation one by one; sinusoid tables become their kernel,
    other concatenations insertions; elementwise ops are fused.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
}

def BufferizeModule : Pass<"transformer-bufferize", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferisation with destination-passing functions";
  let description = [{
    Upstream's one-shot bufferisation over function boundaries, identity layouts
    there; results that are the destination argument are dropped. Inputs of entry
    points and sources of prepare functions are not written to. State is updated in
    place: fails, naming it, where its old value is read after the update.
    `get_parameter` becomes `transformer_kernel.get_parameter`. Fails if a tensor
    is left or a result is not its destination.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::transformer::kernel::KernelDialect"];
}

def SumInBlocks : Pass<"transformer-cpu-sum-in-blocks", "::mlir::ModuleOp"> {
  let summary = "Sums over a long k as sums of sums";
  let description = [{
    A loop over k of a register tile that goes through more than `steps` k
    becomes a loop over blocks of k: each block is summed from zero and added to
    the total. The rounding error of a sum grows with the number of additions one
    after another, so this keeps it near that of libraries that block k. Blocks
    are equal where k allows it; their size depends on k alone. A loop over steps
    of Winograd's inner product goes in blocks of at most 17 steps.
  }];
  let options = [Option<"steps", "steps", "int64_t", "::mlir::transformer::kSumSteps", "most k in one block">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LowerVectors : Pass<"transformer-cpu-lower-vectors", "::mlir::ModuleOp"> {
  let summary = "Accumulators into registers, the k loop unrolled";
  let description = [{
    In the loops over k and its blocks of register tiles every row of the accumulator becomes a
    loop-carried value of its own, and a loop over single k is unrolled by 4.
    Permuted transfers become plain ones.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::ub::UBDialect"];
}

def PrefetchPanels : Pass<"transformer-cpu-prefetch-panels", "::mlir::ModuleOp"> {
  let summary = "Fetch the next weight panel while this one is multiplied";
  let description = [{
    In the unrolled loop over k of every register tile with at least four rows:
    the first two row tiles fetch half of what follows in memory each (the
    panel's next block of k, or the next panel), a cache line at a time, so that
    the stream from memory is even. Steps of Winograd's inner product, whose tiles
    are tall and may be alone, fetch as much as they read, 16 KiB ahead. A tile of
    fewer rows is left alone; its own reads already take all the bandwidth.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def LowerElementwise : Pass<"transformer-cpu-lower-elementwise", "::mlir::ModuleOp"> {
  let summary = "What is left of linalg, and copies, to parallel loops";
  let description = [{
    Every linalg op and every `memref.copy` on buffers outside a parallel loop
    becomes a `scf.forall` over chunks of 16 rows with plain loops inside; inside
    a parallel loop it becomes plain loops. LLVM vectorises them. Fails if a
    linalg op is left.
  }];
  let dependentDialects = ["::mlir::transformer::kernel::KernelDialect", "::mlir::scf::SCFDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::affine::AffineDialect"];
}

def PlanMemory : Pass<"transformer-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer of a call a place in one arena";
  let description = [{
    Every `memref.alloc` of a function becomes a view into an arena that the
    caller passes as the last argument; buffers that are not alive at the same
    time share a slot, as large as the largest of them. Offsets are computed from
    the call's dynamic sizes at the start of the function. For
    each function `@f` a function `@f.arena_bytes` with the same arguments
    returns the bytes that it and the functions it calls need. Fails if an
    allocation is left.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def OutlineParallel : Pass<"transformer-cpu-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "scf.forall to calls of the runtime's tr_parallel_for";
  let description = [{
    The body of every `scf.forall` becomes a function of a context and an index;
    the values it captures travel in a struct on the caller's stack. What a
    `transformer_kernel.work` in the body says becomes a constant for the
    runtime's profiles; its amounts are stored on the stack. Calls with `transformer.scope` name the layer to the profiler. Fails if a
    `scf.forall` is left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect"];
}

def LowerModuleAbi : Pass<"transformer-lower-module-abi", "::mlir::ModuleOp"> {
  let summary = "Parameters to slots, entry points to the module ABI";
  let description = [{
    Assigns a slot of the module's pointer table to every use of a parameter.
    The parameters of one layer call stand together, so that a layer function
    takes one pointer instead of its weights. Wraps entry points and prepare
    functions in the C signature of `runtime/abi/ModuleAbi.h` and writes the JSON
    description and the exported `transformer_module`. `docs/module-abi.md`
    describes both.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"native\"", "Target that the description names">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CODEGEN_PASSES_TD
