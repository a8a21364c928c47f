//===- LayerOps.td - linear, normalisation, activation -------------------*- tablegen -*-===//

#ifndef DIALECT_LAYEROPS_TD
#define DIALECT_LAYEROPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// RowWise.h.
def Transformer_RowWise : NativeOpTrait<"RowWise"> {
  let cppNamespace = "::mlir::transformer";
}

def Transformer_LinearOp : Transformer_Op<"linear", [Pure, Transformer_RowWise, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>,
    DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "matrix product with a weight, plus bias";
  let description = [{
    `out_in` (PyTorch Linear): result = x weight^T + bias, weight `[N, K]`;
    `in_out` (Hugging Face Conv1D): result = x weight + bias, weight `[K, N]`.

    Shapes: x `[T, K]`, bias `[N]`, result `[T, N]`.
    Error: K or N of the operands differ.

    ```mlir
    %y = transformer.linear %x, %w bias(%b : tensor<3072xf32>) out_in
        : tensor<?x768xf32>, tensor<3072x768xf32> -> tensor<?x3072xf32>
    ```
    Source: torch.nn.Linear; transformers.pytorch_utils.Conv1D.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Matrix:$weight,
                       Optional<Transformer_Vector>:$bias, Transformer_WeightLayoutAttr:$layout);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)? $layout attr-dict
    `:` type($x) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Transformer_SplitOp : Transformer_Op<"split", [Pure, Transformer_RowWise, Transformer_CostOpInterface, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "splits rows by columns";
  let description = [{
    The results are consecutive column ranges of x: of a merged Q/K/V
    projection, for example.

    Shapes: x `[T, W]`, results `[T, Wi]` with the sum of all Wi equal to W.
    Error: another sum.

    ```mlir
    %q, %k, %v = transformer.split %qkv : tensor<?x2304xf32> -> tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>
    ```
    Source: torch.split along the last dimension.
  }];
  let arguments = (ins Transformer_Rows:$x);
  let results = (outs Variadic<Transformer_Rows>:$results);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($results)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // one result is x
}

def Transformer_LayerNormOp : Transformer_Op<"layer_norm", [Pure, Transformer_RowWise, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "layer normalisation";
  let description = [{
    `result = gamma * (x - mean) / d + beta` over each row of width W, with
    `d = sqrt(var + eps)` as `norm` (`#transformer.norm`) says.

    Shapes: x and result `[T, W]`, gamma and beta `[W]`.
    Error: widths that differ, `unbiased` with W = 1.

    ```mlir
    %y = transformer.layer_norm %x, %gamma, %beta norm<eps = 1.0e-12>
        : tensor<?x768xf32>, tensor<768xf32>, tensor<768xf32> -> tensor<?x768xf32>
    ```
    Source: Ba et al. 2016; torch.nn.LayerNorm; `unbiased` and `eps_outside`:
    the Annotated Transformer.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Vector:$gamma, Transformer_Vector:$beta,
                       Transformer_NormAttr:$norm);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $gamma `,` $beta `norm` `` $norm attr-dict `:` type($x) `,` type($gamma) `,` type($beta) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ResidualLayerNormOp : Transformer_Op<"residual_layer_norm", [Pure, Transformer_CostOpInterface]> {
  let summary = "adds a residual, then normalises";
  let description = [{
    `sum = x + residual; result = layer_norm(sum)`. The sum is a second result
    where somebody reads it (pre-norm models). Made by
    `transformer-fuse-residual-norm`.

    Shapes, attribute and errors: as `layer_norm`; residual and sum `[T, W]`.

    ```mlir
    %y, %sum = transformer.residual_layer_norm %x, %residual, %gamma, %beta norm<eps = 1.0e-12>
        : (tensor<?x768xf32>, tensor<?x768xf32>, tensor<768xf32>, tensor<768xf32>) -> (tensor<?x768xf32>, tensor<?x768xf32>)
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Rows:$residual,
                       Transformer_Vector:$gamma, Transformer_Vector:$beta,
                       Transformer_NormAttr:$norm);
  let results = (outs Transformer_Rows:$result, Optional<Transformer_Rows>:$sum);
  let assemblyFormat = "$x `,` $residual `,` $gamma `,` $beta `norm` `` $norm attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // drops a sum that nobody reads
}

def Transformer_RmsNormOp : Transformer_Op<"rms_norm", [Pure, Transformer_RowWise, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "division by the root mean square";
  let description = [{
    `result = x / sqrt(mean(x^2) + eps) * gamma` over each row of width W, or over
    each of its `num_heads` parts, which share gamma; eps is that of `norm`.

    Shapes: x and result `[T, W]`, gamma `[W / num_heads]`.
    Error: widths that differ, num_heads that does not divide W, `unbiased` or
    `eps_outside`.

    ```mlir
    %y = transformer.rms_norm %x, %gamma norm<eps = 1.0e-6> : tensor<?x2048xf32>, tensor<2048xf32> -> tensor<?x2048xf32>
    ```
    Source: Zhang and Sennrich 2019; Llama (Touvron et al. 2023); of heads: Henry
    et al. 2020, Qwen3.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Vector:$gamma, Transformer_NormAttr:$norm,
                       DefaultValuedAttr<I64Attr, "1">:$num_heads);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $gamma `norm` `` $norm attr-dict `:` type($x) `,` type($gamma) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ResidualRmsNormOp : Transformer_Op<"residual_rms_norm", [Pure, Transformer_CostOpInterface]> {
  let summary = "adds a residual, then divides by the root mean square";
  let description = [{
    `sum = x + residual; result = rms_norm(sum)`. The sum is a second result
    where somebody reads it. Made by `transformer-fuse-residual-norm`.

    Shapes, attribute and errors: as `rms_norm`; residual and sum `[T, W]`.

    ```mlir
    %y, %sum = transformer.residual_rms_norm %x, %residual, %gamma norm<eps = 1.0e-6>
        : (tensor<?x2048xf32>, tensor<?x2048xf32>, tensor<2048xf32>) -> (tensor<?x2048xf32>, tensor<?x2048xf32>)
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Rows:$residual, Transformer_Vector:$gamma,
                       Transformer_NormAttr:$norm);
  let results = (outs Transformer_Rows:$result, Optional<Transformer_Rows>:$sum);
  let assemblyFormat = "$x `,` $residual `,` $gamma `norm` `` $norm attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // drops a sum that nobody reads
}

def Transformer_EmbeddingLayerNormOp : Transformer_Op<"embedding_layer_norm",
    [Pure, AttrSizedOperandSegments, Transformer_CostOpInterface]> {
  let summary = "sums embeddings, then normalises";
  let description = [{
    `result = layer_norm(sum over i of tables[i][ids[i][t], :])`, the sum taken
    in order. Made by `transformer-fuse-embedding-norm`.

    Shapes: ids `[T]` each, tables `[Vi, W]`, gamma and beta `[W]`, result `[T, W]`.
    Error: as many tables as ids are needed; widths that differ; as `layer_norm`.

    ```mlir
    %y = transformer.embedding_layer_norm ids(%ids, %positions) tables(%words, %places) norm(%gamma, %beta) <eps = 1.0e-12>
        : (tensor<?xi64>, tensor<?xi64>, tensor<30522x768xf32>, tensor<512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x768xf32>
    ```
    Source: BERT's embedding layer (Devlin et al. 2019).
  }];
  let arguments = (ins Variadic<Transformer_Ids>:$ids, Variadic<Transformer_Matrix>:$tables,
                       Transformer_Vector:$gamma, Transformer_Vector:$beta,
                       Transformer_NormAttr:$norm);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    `ids` `(` $ids `)` `tables` `(` $tables `)` `norm` `(` $gamma `,` $beta `)` $norm attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Transformer_ActivationOp
    : Transformer_Op<"activation", !listconcat([Pure, SameOperandsAndResultType, Transformer_CostOpInterface,
                                                DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>],
                                               ElementwiseMappable.traits)> {
  let summary = "an activation function, element by element";
  let description = [{
    relu: max(x, 0); gelu: x/2 (1 + erf(x / sqrt 2)); gelu_tanh:
    x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); silu: x / (1 + e^-x);
    quick_gelu: x / (1 + e^(-1.702 x)); tanh.

    Shapes: any `[T, W]`, result the same; a scalar or a vector inside of
    elementwise ops.

    ```mlir
    %y = transformer.activation gelu %x : tensor<?x3072xf32>
    ```
    Source: Hendrycks and Gimpel 2016 (gelu, silu); transformers' ACT2FN.
  }];
  let arguments = (ins Transformer_ActivationKindAttr:$kind, Transformer_RowsOrScalar:$x);
  let results = (outs Transformer_RowsOrScalar:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
  let hasCanonicalizer = 1;
}

def Transformer_DropoutOp
    : Transformer_Op<"dropout", [Pure, AllTypesMatch<["x", "result"]>, Transformer_CostOpInterface,
                                 DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "zeros for some numbers of a training step, the others scaled up";
  let description = [{
    A definition says where dropout is; without a `key` the result is x, as in
    inference. With one, `result[t, c]` is 0 where
    `random(key, t, c, 0) < floor(rate 2^32)`, else `x[t, c] / (1 - rate)`.
    `random(key, t, c, s)` is 32 bits: word `c % 32 / 8` of Philox4x32-10 with the
    key's low and high half and the counter `(8 (c / 32) + c % 8, t, s, 0)`; t counts
    packed rows. So it depends on nothing but its place, and the backward makes it
    again. `attention` with a rate in its options draws `random(key, i, j, h + 1)` for
    query i, the key j of its sequence and head h.

    Shapes: any x `[T, W]`, result the same. Error: a rate outside [0, 1).

    ```mlir
    %y = transformer.dropout %x key(%key) rate 0.1 : tensor<?x768xf32>
    ```
    Source: Srivastava et al. 2014; Salmon et al. 2011 (Philox); torch.nn.Dropout.
  }];
  let arguments = (ins Transformer_Rows:$x, Optional<I64>:$key, F64Attr:$rate);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x (`key` `(` $key^ `)`)? `rate` $rate attr-dict `:` type($x)";
  let hasVerifier = 1;
  let hasFolder = 1; // without a key or a rate
}

#endif // DIALECT_LAYEROPS_TD
