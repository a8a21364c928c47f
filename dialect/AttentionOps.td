//===- AttentionOps.td - attention on packed rows -------------------------*- tablegen -*-===//

#ifndef DIALECT_ATTENTIONOPS_TD
#define DIALECT_ATTENTIONOPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_AttentionOp : Transformer_Op<"attention", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "scaled dot-product attention on heads";
  let description = [{
    For each sequence and head h: `S = scale * scale_factor * Q_h K_g^T + B_h`,
    `result_h = softmax(S) V_g`, with `g = h / (num_heads / num_kv_heads)`. Head h
    of `q` is its columns `h * D .. (h + 1) * D - 1`. `sequences` are those of the
    queries, then those of the keys and values: a query of row b sees keys of row
    b only, of these the ones that `options` leave (`#transformer.attention_options`:
    causal and window, positions counted from the end of the keys). A query
    without any key gives zeros. The score matrix is never stored.

    `position_bias` depends on the distance `d = j - p` of key j from the query's
    position p alone (p as in the options), in one of two forms:
    - `[num_heads, P]`, P odd: `B_h = bias[h, c]` with
      `c = clamp(d + (P - 1) / 2, 0, P - 1)`: the middle column is for the
      query's own position, keys before it are to the left, and what is farther
      than the table reaches has its outermost value (T5's buckets, of which the
      last is for everything beyond a distance).
    - `[num_heads]`: `B_h = -bias[h] * |d|` (ALiBi's slopes).

    `log_sum_exp`, where it is asked for, is `log(sum_j exp(S_j))`, -infinity for a
    query without any key.

    Shapes: q and result `[Tq, num_heads * D]`, k and v `[Tk, num_kv_heads * D]`,
    log_sum_exp `[Tq, num_heads]`; `scale_factor` is a scalar.
    Error: widths that num_heads does not divide, num_kv_heads that does not
    divide num_heads, heads of different sizes, a bias of another shape.

    ```mlir
    %y = transformer.attention %q, %k, %v sequences(%seq, %seq) options<causal>
        {num_heads = 12 : i64, scale = 0.125 : f64} : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32> -> tensor<?x768xf32>
    ```
    Source: Vaswani et al. 2017; online softmax: Milakov and Gimelshein 2018,
    Dao et al. 2022; torch.nn.functional.scaled_dot_product_attention; grouped
    heads: Ainslie et al. 2023; bias: Raffel et al. 2020 (T5), Press et al. 2022
    (ALiBi).
  }];
  let arguments = (ins Transformer_Rows:$q, Transformer_Rows:$k, Transformer_Rows:$v,
                       Transformer_Sequences:$query_sequences, Transformer_Sequences:$key_sequences,
                       Optional<F32>:$scale_factor, Optional<Transformer_Weight>:$position_bias,
                       I64Attr:$num_heads, OptionalAttr<I64Attr>:$num_kv_heads,
                       F64Attr:$scale, Transformer_AttentionOptions:$options);
  let results = (outs Transformer_Rows:$result, Optional<Transformer_Rows>:$log_sum_exp);
  let assemblyFormat = [{
    $q `,` $k `,` $v `sequences` `(` $query_sequences `,` $key_sequences `)`
    (`scale_factor` `(` $scale_factor^ `)`)? (`position_bias` `(` $position_bias^ `:` type($position_bias) `)`)?
    (`options` `` $options^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` type($result) (`,` type($log_sum_exp)^)?
  }];
  let hasVerifier = 1;
  // Folds a constant scale_factor; drops a redundant num_kv_heads and a
  // log_sum_exp that nobody reads.
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Number of key/value heads: `num_kv_heads`, or `num_heads` if absent.
    int64_t kvHeads();
    /// Width of one head.
    int64_t headDim();
    bool isCausal() { return getOptions().getCausal(); }
  }];
}

#endif // DIALECT_ATTENTIONOPS_TD
