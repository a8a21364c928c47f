//===- EmbeddingOps.td - from ids to rows -------------------------------*- tablegen -*-===//

#ifndef DIALECT_EMBEDDINGOPS_TD
#define DIALECT_EMBEDDINGOPS_TD

include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_EmbeddingOp : Transformer_Op<"embedding", [Pure]> {
  let summary = "rows of a table";
  let description = [{
    `result[t, :] = scale * table[ids[t], :]`.

    Shapes: ids `[T]`, table `[V, W]`, result `[T, W]`.
    Error: widths that differ. An id outside `[0, V)` is refused by the runtime
    before the call (`transformer.range`).

    ```mlir
    %e = transformer.embedding %ids, %table : tensor<?xi64>, tensor<30522x768xf32> -> tensor<?x768xf32>
    ```
    Source: torch.nn.Embedding; `scale` = sqrt(width) in Vaswani et al. 2017.
  }];
  let arguments = (ins Transformer_Ids:$ids, Transformer_Matrix:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` type($ids) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_SinusoidalTableOp : Transformer_Op<"sinusoidal_table", [Pure]> {
  let summary = "the table of sinusoidal position vectors";
  let description = [{
    For position p and pair i of width W: angle = p / 10000^(2i/W); columns
    `interleaved`: 2i holds sin, 2i+1 cos; `halves`: column i holds sin and
    column ceil(W/2) + i cos. An odd width ends with a sin (interleaved).

    Shape: `[positions, W]`. Error: a dynamic shape.

    ```mlir
    %p = transformer.sinusoidal_table interleaved : tensor<512x64xf32>
    ```
    Source: Vaswani et al. 2017, section 3.5; `halves`: Marian.
  }];
  let arguments = (ins Transformer_SinusoidLayoutAttr:$layout);
  let results = (outs Transformer_Matrix:$result);
  let assemblyFormat = "$layout attr-dict `:` type($result)";
}

def Transformer_SinusoidalPositionOp : Transformer_Op<"sinusoidal_position", [Pure]> {
  let summary = "sinusoidal position vectors";
  let description = [{
    `result[t, :]` is row `positions[t]` of `sinusoidal_table` with
    `max_positions` rows. Composite: expands to `sinusoidal_table` and
    `embedding`.

    Shapes: positions `[T]`, result `[T, W]`. Error: max_positions < 1.

    ```mlir
    %p = transformer.sinusoidal_position %positions interleaved max_positions 512 : tensor<?xi64> -> tensor<?x64xf32>
    ```
    Source: Vaswani et al. 2017, section 3.5.
  }];
  let arguments = (ins Transformer_Ids:$positions, Transformer_SinusoidLayoutAttr:$layout,
                       I64Attr:$max_positions);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $positions $layout `max_positions` $max_positions attr-dict `:` type($positions) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DIALECT_EMBEDDINGOPS_TD
