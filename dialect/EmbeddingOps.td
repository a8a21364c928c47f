//===- EmbeddingOps.td - from ids to rows -------------------------------*- tablegen -*-===//

#ifndef DIALECT_EMBEDDINGOPS_TD
#define DIALECT_EMBEDDINGOPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_EmbeddingOp : Transformer_Op<"embedding", [Pure, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "rows of a table";
  let description = [{
    `result[t, :] = scale * table[ids[t], :]`. The row `padding_index`, where there
    is one, gets no gradient from here.

    Shapes: ids `[T]`, table `[V, W]`, result `[T, W]`.
    Error: widths that differ. An id outside `[0, V)` is refused by the runtime
    before the call (`transformer.range`).

    ```mlir
    %e = transformer.embedding %ids, %table : tensor<?xi64>, tensor<30522x768xf32> -> tensor<?x768xf32>
    ```
    Source: torch.nn.Embedding (`padding_idx`); `scale` = sqrt(width) in Vaswani et al. 2017.
  }];
  let arguments = (ins Transformer_Ids:$ids, Transformer_Matrix:$table,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` type($ids) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_SinusoidalTableOp : Transformer_Op<"sinusoidal_table", [Pure, Transformer_CostOpInterface]> {
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

def Transformer_SinusoidalPositionOp : Transformer_Op<"sinusoidal_position", [Pure, Transformer_CostOpInterface]> {
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

def Transformer_RotaryTableOp : Transformer_Op<"rotary_table", [Pure, Transformer_CostOpInterface]> {
  let summary = "cosines and sines for rotary_embedding";
  let description = [{
    For token t and pair i of R / 2: `angle = positions[t] * f_i` with
    `f_i = theta^(-2 i / R)` or, where given, `frequencies[i]` (scaled ones,
    radians a position). `result[t, i] = scale * cos(angle)`,
    `result[t, R / 2 + i] = scale * sin(angle)`. Made once a call and read by
    every layer.

    Shapes: positions `[T]`, result `[T, R]`; R is the number of columns of a head
    that are rotated.
    Error: an odd R, theta that is not > 0, another number of frequencies than
    R / 2.

    ```mlir
    %table = transformer.rotary_table %positions {theta = 1.0e4 : f64} : tensor<?xi64> -> tensor<?x64xf32>
    ```
    Source: Su et al. 2021 (RoFormer); frequencies of Vaswani et al. 2017; scale:
    Peng et al. 2023 (YaRN).
  }];
  let arguments = (ins Transformer_Ids:$positions, OptionalAttr<DenseF64ArrayAttr>:$frequencies,
                       DefaultValuedAttr<F64Attr, "10000.0">:$theta, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $positions (`frequencies` $frequencies^)? attr-dict `:` type($positions) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// `f_i`, given or theta's.
    SmallVector<double> allFrequencies();
  }];
}

def Transformer_RotaryEmbeddingOp : Transformer_Op<"rotary_embedding",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["x", "result"]>,
     DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "rotates pairs of columns by the token's position";
  let description = [{
    In each of `num_heads` heads of D columns, with c and s the token's cosines
    and sines from `table` and R the table's width, for i < R / 2:
    `result[i] = x[i] c[i] - x[i + R / 2] s[i]`,
    `result[i + R / 2] = x[i + R / 2] c[i] + x[i] s[i]`: a pair is a column of
    the first half and its partner in the second, as in Llama. Columns from R on
    stay as they are.

    Shapes: x and result `[T, num_heads * D]`, table `[T, R]` (`rotary_table`).
    Error: a width that num_heads does not divide, R that is odd or larger than D.

    ```mlir
    %q1 = transformer.rotary_embedding %q, %table {num_heads = 32 : i64} : tensor<?x2048xf32>, tensor<?x64xf32>
    ```
    Source: Su et al. 2021; halves: GPT-NeoX, Llama.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Rows:$table, I64Attr:$num_heads);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $table attr-dict `:` type($x) `,` type($table)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Width of one head.
    int64_t headDim();
  }];
}

#endif // DIALECT_EMBEDDINGOPS_TD
