//===- Passes.td - linalg and kernels to NVIDIA GPUs ----------------------*- tablegen -*-===//

#ifndef CODEGEN_GPU_PASSES_TD
#define CODEGEN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetGpuTarget : Pass<"transformer-gpu-set-target", "::mlir::ModuleOp"> {
  let summary = "Say which GPU the module's code is for";
  let description = [{
    Puts upstream's `#nvvm.target` on the module, as `transformer.target`.
    Error: an architecture that is not sm_80 or sm_90a.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_90a\"", "sm_80 or sm_90a">];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def HostInputs : Pass<"transformer-gpu-host-inputs", "::mlir::ModuleOp"> {
  let summary = "Inputs that the host reads, on the host, too";
  let description = [{
    What an entry point gets lies on the device, and some of it the host reads: the mask whose
    tokens it counts, on which sizes of buffers and launches depend, and the seed of a step,
    which kernels get as a number. The entry point gets an argument more for each such input,
    with `transformer.host_input`: the host's copy, from which every `memref.load` outside of
    a `scf.parallel` reads. Nobody waits for the device in the middle of a call. Left alone:
    loads of anything else, which `transformer-gpu-lower-launches` refuses. Run it behind
    `transformer-gpu-scalars-to-threads`.
  }];
}

def InlineKernels : Pass<"transformer-gpu-inline-kernels", "::mlir::ModuleOp"> {
  let summary = "Functions of one kernel to their callers";
  let description = [{
    A private function that is one kernel and scalars for it, as the update of a parameter is, goes
    where it is called: what its calls compute alike, as the coefficients of a step, is computed
    once, and equal kernels become one later.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def NarrowWeights : Pass<"transformer-gpu-narrow-weights", "::mlir::ModuleOp"> {
  let summary = "Weights that are rounded stay narrow";
  let description = [{
    A `quantize_weight` becomes what is stored of it (bf16; f16; integers of 8 bits with a
    scale for each output; of 4 bits, two in a byte, with a bf16 scale for each 32
    inputs), computed when weights are loaded, and each `linalg.matmul` that reads it a
    sum that makes floats of that. `quantize_rows` becomes arithmetic; what it makes bf16
    or f16 is stored so for products, and for attention whose weights are that, too; caches are
    bf16 or f16 where all that is appended to them is. What is rounded to TF32 stays f32: each
    product that reads it rounds its factors (`transformer_gpu.round_tf32`). Fails for another op that reads a rounded weight.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::simt::GpuDialect"];
}

def NarrowCalls : Pass<"transformer-gpu-narrow-calls", "::mlir::ModuleOp"> {
  let summary = "Functions take and give what is rounded";
  let description = [{
    An argument or a result of a private function that all who read it round to bf16 or f16 is
    rounded before it is passed: what a layer keeps for its backward takes half the memory, and
    who makes it can write it so; weights are rounded once, for forward and backward. Left alone:
    what somebody reads as f32, too, and rows or columns that do not begin at multiples of 16 bytes.

    ```mlir
    %y = call @layer(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>   // @layer rounds %x, others %y
    // becomes
    %rounded = linalg.generic ... arith.truncf ... -> tensor<?x64xbf16>
    %y = call @layer(%rounded) : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FuseRoundings : Pass<"transformer-gpu-fuse-roundings", "::mlir::ModuleOp"> {
  let summary = "Kernels write what is rounded";
  let description = [{
    A norm, dropout, rotary embedding or the backward of attention or a loss whose result is rounded
    to bf16 or f16 writes it so; a norm or dropout of which others read the f32, too, writes both.
    What a product makes is `transformer-gpu-fuse-products`' to round.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FuseProducts : Pass<"transformer-gpu-fuse-products", "::mlir::ModuleOp"> {
  let summary = "Matrix products with what is made of their numbers";
  let description = [{
    A matrix product that starts from zeros becomes a `transformer_gpu.product`, which writes
    without having read, and takes in the elementwise ops behind it, as long as one reads its
    result where it is written: a bias, an activation, a residual, an activation's gradient. Where others
    read what such an op reads, too, the product writes both. Left alone: a sum that continues
    another one (gradients that are accumulated in a product), and ops that read other places
    of a tensor than their own.
    Run it before bufferisation, in front of which everything has its destination.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::transformer::simt::GpuDialect"];
}

def EmitGpuKernels : Pass<"transformer-gpu-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels on buffers to threads, functions to arithmetic";
  let description = [{
    Replaces `transformer_kernel` ops and sums of linalg (matrix products) on buffers by a
    `scf.parallel` with an index for each thread (`count_tokens`, on which sizes
    depend, by loops of the host), and exp, exp2, tanh, erf and activations on f32,
    log, and exp and powers on f64 by arithmetic. Plain kernels: a row or a number a
    thread. Where the module has a GPU as its target, attention and matrix products are
    kernels of blocks whose threads have shared memory in common (`memref.alloca` of the
    workgroup), tiles of their size, and barriers; products and attention of bf16 or f16 are the
    tensor cores' (`mma.sync`, or `wgmma` where the target has it), and of a number of rows that is
    not known the host chooses between a product's tile of many and one of few. What else there is
    of linalg becomes upstream's `scf.parallel` over its loops. Fails, naming the op, for one that
    is left.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::transformer::simt::GpuDialect"];
}

def ScalarsToThreads : Pass<"transformer-gpu-scalars-to-threads", "::mlir::ModuleOp"> {
  let summary = "Scalar code on the device's memory to a thread";
  let description = [{
    What a function's block itself does with memory between two kernels or calls (a
    loss, the clipping of gradients, the coefficients of an optimizer's step, loops of
    one index that canonicalisation has taken away) becomes a `scf.parallel` of one
    thread; later threads load what they need of its results. Integers that are only
    loaded and are not made floats stay with the host: sizes and keys of dropout follow
    from them. Canonicalisation takes such loops away again: none stands between this
    and `transformer-gpu-map-threads`. Fails where the host itself needs a result, or
    loads from a buffer that is no argument.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MapThreads : Pass<"transformer-gpu-map-threads", "::mlir::ModuleOp"> {
  let summary = "scf.parallel to launches";
  let description = [{
    Every outermost `scf.parallel` from 0 by steps of 1 becomes a `gpu.launch` of
    as many threads as it has places, in blocks of one dimension; what is inside
    runs in the thread, and constants that it reads are there, too. A loop with a
    `memref.alloca` of the workgroup's memory is blocks, whose threads its last
    dimension counts: what is allocated becomes the launch's dynamic shared memory. The kernel is
    named after the function and goes to the module `@kernels`. Fails for a parallel loop of another kind.
  }];
  let options = [Option<"threads", "threads", "int64_t", "128", "threads of a block">];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def MergeKernels : Pass<"transformer-gpu-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Equal kernels once";
  let description = [{
    Of kernels of a `gpu.module` that differ in their names alone the first stays, and every
    `gpu.launch_func` of another launches it: an entry point's layers do with other rows what
    another's do, and so do layers of one kind, an optimizer's parameters, their gradients. Runs on
    `gpu.func` and again on NVVM, where sizes that no instruction reads are gone from the types.
  }];
}

def LowerLaunches : Pass<"transformer-gpu-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Launches to calls of the runtime's tr_launch";
  let description = [{
    Every `gpu.launch_func` of a function becomes a call of `tr_launch` with the kernel's
    number and pointers to its arguments, a buffer's as the fields of its descriptor.
    `transformer.device` becomes a constant that names the kernels and points to their code,
    if it is there as `transformer.ptx` and `transformer.cubin`. Calls with `transformer.scope`
    name the layer. Fails where a function reads or writes the device's memory, which only
    kernels can, or passes them a constant of the host.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect"];
}

def AttachGpuTarget : Pass<"transformer-gpu-attach-target", "::mlir::ModuleOp"> {
  let summary = "The module's target to its GPU modules";
  let description = [{
    What PTX is made for of each `gpu.module`. Kernels get
    `nvvm.minctasm`, so that one block may take all registers of a multiprocessor, and those that
    wait for a cluster's blocks `nvvm.cluster_dim`: two are one.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"];
}

def MathToIntrinsics : Pass<"transformer-gpu-math-to-intrinsics", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Math ops to LLVM's intrinsics";
  let description = [{
    Upstream's conversion to NVVM would call a device library for roots, magnitudes
    and rounding, for which there are instructions. Fails, naming the op, for one
    that has none.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def AlignSharedMemory : Pass<"transformer-gpu-align-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "A block's memory begins where any layout of it may";
  let description = [{
    Upstream's conversion to NVVM gives memory of the workgroup, which is global
    variables then, the alignment of a vector. `wgmma` finds the pieces of 16 bytes of
    its operands by bits of their addresses: what begins at a multiple of 1024 bytes
    of the memory has to begin at one of the address. Other globals stay as they are.

    ```mlir
    llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    // becomes
    llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TensorMapParameters
    : Pass<"transformer-gpu-tensor-map-parameters", "::mlir::gpu::GPUModuleOp"> {
  let summary = "What tells of a matrix is a parameter of a kernel itself";
  let description = [{
    Instructions that copy boxes read the 128 bytes of a `transformer_gpu.tensor_map` where the
    launch has put them. Of a kernel on NVVM each pointer that such an instruction takes becomes a
    parameter by value, at a multiple of 64 bytes, that nobody writes.

    ```mlir
    llvm.func @kernel(%map: !llvm.ptr) attributes {gpu.kernel}
    // becomes
    llvm.func @kernel(%map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>,
                                       nvvm.grid_constant}) attributes {gpu.kernel}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CODEGEN_GPU_PASSES_TD
