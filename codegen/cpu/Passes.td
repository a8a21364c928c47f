//===- Passes.td - linalg and kernels to a CPU's code ---------------------*- tablegen -*-===//

#ifndef CODEGEN_CPU_PASSES_TD
#define CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetTarget : Pass<"transformer-cpu-set-target", "::mlir::ModuleOp"> {
  let summary = "Say which CPU the module's code is for";
  let description = [{
    Describes the CPU as `transformer.target`, a `#transformer_cpu.target`, on the
    module. Every pass behind this one takes what it knows of the machine from
    there.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"native\"", "target, as --arch of transformer-compile">];
  let dependentDialects = ["::mlir::transformer::cpu::CpuDialect"];
}

def EmitNests : Pass<"transformer-cpu-emit-nests"> {
  let summary = "Kernels on buffers to loop nests, functions to vector arithmetic";
  let description = [{
    Replaces `transformer_kernel` and `transformer_cpu` ops on buffers by loop
    nests, and exp, exp2, tanh, erf and activations on f32 by vector arithmetic.
    Fails, naming the op, for one that is still on tensors or whose buffers are not
    contiguous in the last dimension.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def EstimateSquares : Pass<"transformer-cpu-estimate-squares", "::mlir::ModuleOp"> {
  let summary = "What linear layers read: mean squares of its features, from weights";
  let description = [{
    In front of each `linalg.matmul` whose x comes from ops with weights of their
    own stands a `transformer_cpu.estimated` that says how large the squares of
    each feature of x are about:

    | x | mean square of feature i |
    |---|---|
    | a norm | `gamma[i]^2 + beta[i]^2` |
    | a product of z | `sum over k of w[i, k]^2 squares(z)[k]`, if known |
    | an activation of a variance v around b | half of v, plus `max(b, 0)^2`; tanh: `m / (1 + m)` of `m = v + b^2` |
    | attention of sequences to themselves | of the values |
    | an embedding | that of the table's columns |
    | a sum | the sum of both; a bias is its own mean |
    | a gate, x times y | the product of both |

    Features are taken as independent; sums over weights are those of a sample
    (`transformer_cpu.sample_squares`). A layer function gets the squares of
    its rows as arguments, behind its own, where every caller can tell them; what
    it returns is told from what it gets. All this depends on weights alone and
    moves to load time with `transformer-hoist-parameters`. Anything else is not
    known, and its reader is left as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::cpu::CpuDialect"];
}

def PackLinear : Pass<"transformer-cpu-pack-linear", "::mlir::ModuleOp"> {
  let summary = "Matrix products on weights in panels, in the format that the target wants";
  let description = [{
    A `linalg.matmul` of zeros, rows `[T, K]` and a weight becomes a
    `transformer_cpu.pack_weight` (moved to load time by
    `transformer-hoist-parameters`), a contraction on panels over
    `[T, N / NR, NR, steps]` and one elementwise epilogue, which holds the
    elementwise op that alone read the product, if there is one. The order of the
    contraction's sum depends on K alone. A sum whose panels no cache holds, of a weight that
    each call gets, is in parts of equal length, a loop over slices, two a turn, whose sums take
    turns in two places.

    What a step of the sum is, and what x and the weight become, is the format's
    (`codegen/cpu/linear/LinearFormat.h`): one product (`f32`), or Winograd's inner
    product (`winograd`), for which x goes through `winograd_rows` and
    the epilogue undoes the scales.

    A weight that comes from `transformer.quantize_weight` is kept in its format.
    Narrow numbers become float32 in registers: `bf16` with no more ado; `int8` as
    integers, whose scale is the epilogue's; `int4` in words of eight and groups of
    32, whose sums are multiplied by their scale, with x from `int4_rows`. Where x comes
    from `transformer.quantize_rows` as well, both stay integers (`int8-integer`,
    `int4-integer`): a step is a group of 32 of `dot_bytes`, with x from `integer_rows`.
    Rows and a weight of bfloat16 (`bf16-pairs`) stay such in pairs of `dot_bfloat16`, with
    x from `bfloat16_rows`. Where the target has matrix registers (`bf16-matrix`) x comes in whole
    ones, one behind the other, which `linalg.unpack` makes rows of for what tiles the product; a
    product over the tokens of two such rows likewise. With such registers
    float32 becomes three bfloat16 each (`f32-matrix`) where each call gets the weight, and in
    products over the tokens. Fails if
    something else reads a rounded weight or rounded rows, or the target has no
    instruction for pairs.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::cpu::CpuDialect"];
}

def TileLinear : Pass<"transformer-cpu-tile-linear", "::mlir::func::FuncOp"> {
  let summary = "Tile and fuse linear layers for a CPU's registers and caches";
  let description = [{
    For each contraction on panels and its epilogue: tasks of a block of rows by
    one panel, or by as many as make a task worth handing out (`scf.forall`, with
    the epilogue, contraction and fill fused), inside them register tiles of one
    panel, panels outside and rows inside so that a panel stays in the
    second-level cache. A panel too large for that goes in blocks of k, whose sums
    wait in memory. Rows that are left over go through tiles of half the rows (of
    four, where a full tile has six) down to one. A tile of matrix registers may have any number
    of rows: its contraction becomes `multiply_matrices` of registers, its epilogue a loop over
    rows. Fails if the rows are in no registers.

    A task of fewer than four rows would wait for its additions and for one panel's
    stream from memory: in a branch of its own (`scf.if`) a row, or two, goes through
    several panels at once, as its format says. All tiles of a row sum in one order.
  }];
  let dependentDialects = ["::mlir::transformer::kernel::KernelDialect",
                           "::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VectorizeLinear : Pass<"transformer-cpu-vectorize-linear", "::mlir::func::FuncOp"> {
  let summary = "Register tiles of linear layers on vectors";
  let description = [{
    The contraction of a register tile becomes a loop over k, one fused
    multiply-add a row, whose accumulators it carries; its epilogue becomes vector
    arithmetic. k runs one by one from 0 to K - 1 in every tile, so that a row's
    result does not depend on the number of rows; with Winograd's inner product it
    runs step by step, in each for every row two pairs and two products; with 4-bit
    weights group by group, a loop over the words of each. No marked linalg op is
    left.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SeparateWeights : Pass<"transformer-cpu-separate-weights", "::mlir::ModuleOp"> {
  let summary = "Merged weights packed one by one";
  let description = [{
    `pack_weight` and `weight_scales`, where panels stay whole, and `winograd_scales`
    take the weights of a concatenation one by one, so that nobody puts it together.
  }];
}

def SumInBlocks : Pass<"transformer-cpu-sum-in-blocks", "::mlir::func::FuncOp"> {
  let summary = "Sums over a long k as sums of sums";
  let description = [{
    A loop over k of a register tile that goes through more than `steps` k
    becomes a loop over blocks of k: each block is summed from zero and added to
    the total. The rounding error of a sum grows with the number of additions one
    after another, so this keeps it near that of libraries that block k. Blocks
    are equal where k allows it; their size depends on k alone. A loop over steps
    of Winograd's inner product goes in blocks of at most 17 steps, one over groups
    of 4-bit weights of at most 8.
  }];
  let options = [Option<"steps", "steps", "int64_t", "0", "most steps in one block; 0: as many as the format says">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LowerVectors : Pass<"transformer-cpu-lower-vectors", "::mlir::func::FuncOp"> {
  let summary = "Accumulators into registers, the k loop unrolled";
  let description = [{
    In the loops over k and its blocks of register tiles every row of the accumulator becomes a
    loop-carried value of its own, and a loop over single k is unrolled.
    Permuted transfers become plain ones, `dot_bytes` and `dot_bfloat16` the target's
    instructions, `multiply_matrices` a loop over matrix registers, beside whose steps the rows of
    the tile before go through their epilogue; the last tile's come behind the loops over tiles
    (codegen/cpu/linear/LaterEpilogue.h).
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::ub::UBDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerMatrices : Pass<"transformer-cpu-lower-matrices"> {
  let summary = "Matrix registers to instructions";
  let description = [{
    Replaces the ops on matrix registers (`load_matrix`, `add_matrix_product` and so on) by LLVM's
    intrinsics of x86's AMX, in the order in which they stand.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def PrefetchPanels : Pass<"transformer-cpu-prefetch-panels", "::mlir::func::FuncOp"> {
  let summary = "Fetch the next weight panel while this one is multiplied";
  let description = [{
    In the unrolled loop over k of every register tile with at least four rows:
    the row tiles share what follows in memory (the panel's next block of k, or the
    next panel). Each turn of a tile fetches a cache line, or as many as make it up
    where tiles are few, so that the stream from memory is even; two tiles at least share
    it, where a turn reads two lines or more. Steps of Winograd's inner product fetch as much
    as they read, a distance ahead, where tiles are one vector wide, so tall that they may be
    alone; so do words of 4-bit weights. Tiles two vectors wide fetch a part each of what comes
    after their block of k, smaller the more of them there are. Tiles of fewer rows, which go
    through several panels at once, fetch the panels behind those where k of a panel are less
    than a line; others are left alone: their own reads take all the bandwidth. Of matrix
    registers the tiles of a panel share the one behind it. What a tile's epilogue reads of rows
    as wide as the result is fetched in front of the tile.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def SaveWords : Pass<"transformer-cpu-save-words", "::mlir::ModuleOp"> {
  let summary = "What only products over tokens read is passed to them as words";
  let description = [{
    An argument of a function that rounded products over tokens alone read, and that all calls give
    the same result of another function, which nobody else reads, becomes words of two bfloat16 in
    both: a layer's forward keeps what its backward multiplies.

    ```mlir
    %y, %saved = func.call @layer.saving(%x) : (tensor<?x768xf32>) -> (tensor<?x768xf32>, tensor<?x768xf32>)
    %dx, %dw = func.call @layer.backward(%saved, %dy) : (tensor<?x768xf32>, tensor<?x768xf32>) -> (tensor<?x768xf32>, tensor<768x768xf32>)
    // becomes
    %y, %saved = func.call @layer.saving(%x) : (tensor<?x768xf32>) -> (tensor<?x768xf32>, tensor<?x384xi32>)
    %dx, %dw = func.call @layer.backward(%saved, %dy) : (tensor<?x384xi32>, tensor<?x768xf32>) -> (tensor<?x768xf32>, tensor<768x768xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def RoundOnce : Pass<"transformer-cpu-round-once", "::mlir::func::FuncOp"> {
  let summary = "Rows that several ops read as bfloat16 are rounded once";
  let description = [{
    What several ops of `bfloat16_rows` and products over tokens (`weight_gradient`) read is rounded
    by one `bfloat16_rows` behind where it is made, and all read its words; of columns that are
    rounded apart, a slice of them. Then kernels that can (norms, dropout, the gradient of
    cross-entropy) write the words themselves, in place of float32 or beside it, and an activation
    that nobody else reads is applied by the op that rounds it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def RoundInEpilogues : Pass<"transformer-cpu-round-in-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Rows of the next product are rounded where they are computed";
  let description = [{
    What `bfloat16_rows` reads, if nothing else does and tiles of a linear layer write it whole
    panels at a time: the tiles write its words in the place of float32. In inference that is what
    is between the two linear layers of an FFN.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerElementwise : Pass<"transformer-cpu-lower-elementwise", "::mlir::func::FuncOp"> {
  let summary = "What is left of linalg, and copies, to parallel loops";
  let description = [{
    Every linalg op and every `memref.copy` on buffers outside a parallel loop
    becomes a `scf.forall` over chunks of rows with plain loops inside; inside
    a parallel loop it becomes plain loops. Those of elementwise ops on f32 take a
    vector of columns at a time, others are left to LLVM. Fails if a linalg op is left.
  }];
  let dependentDialects = ["::mlir::transformer::kernel::KernelDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::mlir::linalg::LinalgDialect", "::mlir::affine::AffineDialect"];
}

def MoveUpdates : Pass<"transformer-cpu-move-updates", "::mlir::func::FuncOp"> {
  let summary = "An optimizer's update into the tasks of the product behind it";
  let description = [{
    An elementwise op that updates rows of several of the function's arguments, and that a
    product's tasks follow which have nothing to do with these, goes into the tasks: some
    rows each, as `#transformer_cpu.linear<beside>`. Its rows are whole vectors. Where the
    target has no registers for it, or products are those of matrix registers, it stays.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def UpdateInTiles : Pass<"transformer-cpu-update-in-tiles", "::mlir::func::FuncOp"> {
  let summary = "An optimizer's update beside register tiles";
  let description = [{
    What `transformer-cpu-move-updates` gave to a task is divided between the turns over k
    of its largest register tiles: evenly, a vector at a time, whose lines have been fetched
    before. Behind the tiles the task makes what is left. No op marked `beside` is left.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MarkEpilogues : Pass<"transformer-cpu-mark-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Say which epilogues become functions of their own";
  let description = [{
    Loops over a register tile's rows, behind its product, that compute gradients of activations get
    `#transformer_cpu.linear<rows>`. Here these are still ops.
  }];
}

def OutlineEpilogues : Pass<"transformer-cpu-outline-epilogues", "::mlir::ModuleOp"> {
  let summary = "Long epilogues to functions of their own";
  let description = [{
    A loop that `transformer-cpu-mark-epilogues` has marked becomes a private function of what it
    reads and of its last row, the same one for tiles of all heights. LLVM would keep the loop's
    constants in registers through the product around it, too, and spill the product's sums for
    them: GPT-2's 768 x 3072 backward takes 0.87 of the time for that (AVX-512). Of activations
    themselves it was measured to take as long, or 1 % more.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def OutlineParallel : Pass<"transformer-cpu-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "scf.forall to calls of the runtime's tr_parallel_for";
  let description = [{
    The body of every `scf.forall` becomes a function of a context and an index;
    the values it captures travel in a struct on the caller's stack. What a
    `transformer_kernel.work` in the body says becomes a constant for the
    runtime's profiles; its amounts are stored on the stack. Calls with
    `transformer.scope` name the layer to the profiler. Fails if a `scf.forall` is
    left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect"];
}

def MergeTasks : Pass<"transformer-cpu-merge-tasks", "::mlir::ModuleOp"> {
  let summary = "One function for tasks that do the same";
  let description = [{
    A decoder's `forward` and `step` have the same linear layers, and weights of one
    shape are packed alike: of private functions whose addresses are taken and whose
    bodies are equivalent, the first stands in for the others, which are erased. What
    profiles say of them travels with the call and stays.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def LowerGlobals : Pass<"transformer-cpu-lower-globals", "::mlir::ModuleOp"> {
  let summary = "constant buffers to the LLVM dialect's globals";
  let description = [{
    `memref.global` and what reads its address, so that all other conversions can
    go function by function: the address of a global is valid only once that is
    one of the LLVM dialect.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CODEGEN_CPU_PASSES_TD
