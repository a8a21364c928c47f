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

def RowsInPlace : Pass<"transformer-rows-in-place", "::mlir::ModuleOp"> {
  let summary = "Replace rows where they stand";
  let description = [{
    A `transformer_kernel.layer_norm` that alone reads what an op before it has
    written to memory of its own writes its result, or its sum, there. So does the
    backward of a loss, behind the loss.
  }];
}

def InsertResults : Pass<"transformer-insert-results", "::mlir::ModuleOp"> {
  let summary = "Kernels write where their results are copied";
  let description = [{
    A kernel that fills a buffer which is then but copied to a part of another (the gradients of q,
    k and v to that of a merged projection) writes that part. Left alone: a buffer that others
    read, and a part whose place is computed, or whose memory is used, between kernel and copy.
    Run it behind bufferisation.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ShareSoftmax : Pass<"transformer-share-softmax", "::mlir::ModuleOp"> {
  let summary = "The backward of a loss reads what the loss knows of its rows";
  let description = [{
    A `transformer_kernel.cross_entropy_gradient` behind the `cross_entropy` of the same scores and
    labels gets the largest score and the sum of exponentials of each row from there. Or it computes
    the loss, too, with a row in the caches for both, where its own dloss does not depend on it.
  }];
  let options = [Option<"inOneSweep", "in-one-sweep", "bool", "false", "the backward computes the loss">];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
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

def LowerPrepare : Pass<"transformer-lower-prepare", "::mlir::ModuleOp"> {
  let summary = "Prepare functions: destination passing, tables to kernels";
  let description = [{
    The functions that `transformer.prepared` names take their result as an
    argument. Sinusoid tables become their kernel, concatenations insertions;
    elementwise ops are fused.
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

def PlanMemory : Pass<"transformer-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer of a call a place in one arena";
  let description = [{
    Every `memref.alloc` of a function becomes a view into an arena that the
    caller passes as the last argument. Buffers of the same dynamic sizes (the
    same values; or none) share a part, in which those that are not alive at the
    same time may overlap; offsets are computed from the call's sizes at the start
    of the function. What all turns of a loop allocate in one size has one place as long as the
    loop runs. For each function `@f` a function `@f.arena_bytes` with the same arguments
    returns the bytes that it and the functions it calls need. Fails if an
    allocation is left.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
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
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def PassPointers : Pass<"transformer-pass-pointers", "::mlir::ModuleOp"> {
  let summary = "Pointers and dynamic sizes in place of memref arguments";
  let description = [{
    A memref of identity layout in an argument of a function that only this module calls
    becomes its pointer and its dynamic sizes. By itself it would become three numbers and two
    more a dimension, of which the function knows most from the type:

    ```mlir
    func.func private @layer(%x: memref<?x4xf32>)
    // becomes
    func.func private @layer(%data: !llvm.ptr, %rows: i64)
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CODEGEN_PASSES_TD
