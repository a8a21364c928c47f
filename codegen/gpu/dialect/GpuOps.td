//===- GpuOps.td - what only a GPU's code generation knows ----------------*- tablegen -*-===//

#ifndef CODEGEN_GPU_DIALECT_GPUOPS_TD
#define CODEGEN_GPU_DIALECT_GPUOPS_TD

include "codegen/kernels/KernelBase.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Gpu_Dialect : Dialect {
  let name = "transformer_gpu";
  let cppNamespace = "::mlir::transformer::simt";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::transformer::kernel::KernelDialect"];
  let summary = "matrix products as a GPU computes them";
  let description = [{
    A product with all that is made of its numbers before they go to memory, and what kernels
    of blocks are told by the host.
  }];
}

def Gpu_ProductOp : Kernel_DestinationOp<Gpu_Dialect, "product", [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "a matrix product, and what becomes of each of its numbers";
  let description = [{
    Of each row and column, `number = sum over depth of x y`, from zero, with x and y as `terms`
    gives them of the row, the column, the depth and what it reads of `factors` there. `result`
    gets the row, the column, that number and what it reads of `others` there, and gives what is
    written to each of `outs`, `[rows, columns]`, at that place. `maps` say where in each factor
    (of row, column and depth) and in each of the others (of row and column). x depends on the
    row and y on the column, or the other way round. Others that are read where an out is written
    may be its memory. Made by `transformer-gpu-fuse-products`:

    ```mlir
    // gelu(x wT + bias)
    %y = transformer_gpu.product ins(%x, %w) with(%bias) outs(%init) maps [
        affine_map<(r, c, k) -> (r, k)>, affine_map<(r, c, k) -> (c, k)>, affine_map<(r, c) -> (c)>] terms {
    ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
      transformer_gpu.yield %a, %b : f32, f32
    } result {
    ^bb0(%row: index, %column: index, %number: f32, %c: f32):
      %sum = arith.addf %number, %c : f32
      %gelu = transformer.activation gelu %sum : f32
      transformer_gpu.yield %gelu : f32
    } : (tensor<?x64xf32>, tensor<128x64xf32>, tensor<128xf32>, tensor<?x128xf32>) -> tensor<?x128xf32>
    ```
  }];
  let arguments = (ins Variadic<Kernel_Buffer>:$factors, Variadic<Kernel_Buffer>:$others,
                       Variadic<Kernel_Buffer>:$outs, AffineMapArrayAttr:$maps);
  let regions = (region SizedRegion<1>:$terms, SizedRegion<1>:$result);
  let assemblyFormat = [{
    `ins` `(` $factors `)` (`with` `(` $others^ `)`)? `outs` `(` $outs `)` `maps` $maps
    `terms` $terms `result` $result attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = Kernel_DestinationDeclaration # [{
    ::mlir::AffineMap factorMap(unsigned i) { return mapAt(i); }
    ::mlir::AffineMap otherMap(unsigned i) { return mapAt(getFactors().size() + i); }

  private:
    ::mlir::AffineMap mapAt(unsigned i) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue();
    }

  public:
  }];
}

def Gpu_YieldOp : Op<Gpu_Dialect, "yield", [Pure, Terminator, HasParent<"ProductOp">]> {
  let summary = "what a region of transformer_gpu.product gives";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Gpu_RoundTf32Op : Op<Gpu_Dialect, "round_tf32", [Pure, SameOperandsAndResultType]> {
  let summary = "a number as tensor cores multiply float32";
  let description = [{
    To 11 digits, to nearest, ties away from zero: `quantize_rows tf32` of one number. Where both
    factors of a product's terms are such, tensor cores multiply them.

    ```mlir
    %y = transformer_gpu.round_tf32 %x : f32
    ```
    Source: PTX, `cvt.rna.tf32.f32`.
  }];
  let arguments = (ins F32:$x);
  let results = (outs F32:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Gpu_TensorMapOp : Op<Gpu_Dialect, "tensor_map"> {
  let summary = "what tells a GPU of a matrix whose boxes it copies";
  let description = [{
    128 bytes that a kernel has as a parameter. A box has 64 columns, `rows` rows, and zeros outside
    of the matrix; its pieces of 16 bytes are in the order of the 128-byte swizzle. The matrix begins
    at a multiple of 16 bytes, and so do its rows. It stands in the kernel, so that the matrix is
    read there; `transformer-gpu-map-threads` puts it before the launch, and the host makes it.

    ```mlir
    %map = transformer_gpu.tensor_map %x, 128 : memref<?x768xbf16>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[BF16, F16], [2]>, "", [MemRead]>:$matrix, I64Attr:$rows);
  let results = (outs LLVM_PointerInAddressSpace<0>:$map);
  let assemblyFormat = "$matrix `,` $rows attr-dict `:` type($matrix)";
}

def Gpu_MultiprocessorsOp : Op<Gpu_Dialect, "multiprocessors", [Pure]> {
  let summary = "how many multiprocessors the GPU has";
  let description = [{
    Of the host's code: as many blocks run at once, where a block takes all of a multiprocessor.
  }];
  let results = (outs Index:$count);
  let assemblyFormat = "attr-dict";
}

#endif // CODEGEN_GPU_DIALECT_GPUOPS_TD
