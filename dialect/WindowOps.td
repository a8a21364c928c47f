//===- WindowOps.td - rows from pixels and from neighbouring rows ---------*- tablegen -*-===//
//
// What is left of a convolution when a linear layer computes its products: the
// patches of an image, the windows of a sequence.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_WINDOWOPS_TD
#define DIALECT_WINDOWOPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_PatchesOp : Transformer_Op<"patches", [Pure, Transformer_CostOpInterface]> {
  let summary = "the patches of images or of signals, a row each";
  let description = [{
    x is cut into patches of `sizes` that do not overlap; what is left over at
    the ends of its dimensions belongs to none. The sequences have, for each
    item of x, `first` tokens that are no patch and one for each patch, in
    row-major order. For the row `t` that came from `(b, s)`, `result[t, :]` is
    zeros where `s < first`, else patch `s - first` of item b, in row-major
    order: channel, then the place in the patch. The weight of a convolution
    whose stride is its kernel's size, as `[out, in * sizes]`, is then that of a
    `linear`.

    Shapes: x `[B, C, H, W]` with two sizes or `[B, C, L]` with one, result
    `[T, C * product of sizes]`. Error: dynamic sizes behind the batch, another
    number of sizes, a size that is < 1 or larger than its dimension, a negative
    `first`, another width.

    ```mlir
    %y = transformer.patches %pixels, %seq sizes [16, 16] first 1 : tensor<?x3x224x224xf32> -> tensor<?x768xf32>
    ```
    Source: ViT (Dosovitskiy et al. 2021), section 3.1.
  }];
  let arguments = (ins TensorRankOf<[F32], [3, 4]>:$x, Transformer_Sequences:$sequences,
                       DenseI64ArrayAttr:$sizes, I64Attr:$first);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $sequences `sizes` $sizes `first` $first attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many patches an item of x has.
    int64_t numPatches();
  }];
}

def Transformer_WindowsOp : Transformer_Op<"windows",
    [Pure, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "each token beside its neighbours, as one row";
  let description = [{
    Token i of sequence b of `result_sequences` gets the `kernel` tokens of
    sequence b of `sequences` from `i * stride - padding` on, one behind the
    other: `result[i, j * W + c] = x[i * stride - padding + j, c]`, zero where the
    sequence has no such token. The weight `[out, in, kernel]` of a convolution
    over time, as `[out, kernel * in]`, is then that of a `linear`.

    Shapes: x `[T, W]`, result `[T', kernel * W]`.
    Error: kernel < 1, stride < 1, a negative padding, another width.

    ```mlir
    %y = transformer.windows %x, %frames -> %tokens kernel 3 stride 2 padding 1 : tensor<?x384xf32> -> tensor<?x1152xf32>
    ```
    Source: torch.nn.Conv1d; Whisper (Radford et al. 2022), section 2.2.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences,
                       Transformer_Sequences:$result_sequences, I64Attr:$kernel, I64Attr:$stride, I64Attr:$padding);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $x `,` $sequences `->` $result_sequences `kernel` $kernel `stride` $stride `padding` $padding attr-dict
    `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DIALECT_WINDOWOPS_TD
