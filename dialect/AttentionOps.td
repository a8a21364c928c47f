//===- AttentionOps.td - attention on packed rows -------------------------*- tablegen -*-===//

#ifndef DIALECT_ATTENTIONOPS_TD
#define DIALECT_ATTENTIONOPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_RelativeScoresOp : Transformer_Op<"relative_scores",
    [Pure, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "products of every head with the rows of a table";
  let description = [{
    `result[t, h * P + p] = sum_d x[t, h * D + d] table[p, h * D + d]`: the scores
    of queries with the keys of P relative positions, or of keys with their
    queries, which `attention` takes.

    Shapes: x `[T, num_heads * D]`, table `[P, num_heads * D]`, result
    `[T, num_heads * P]`. Error: num_heads that does not divide the width, other
    widths.

    ```mlir
    %c2p = transformer.relative_scores %q, %pos_keys {num_heads = 12 : i64}
        : tensor<?x768xf32>, tensor<512x768xf32> -> tensor<?x6144xf32>
    ```
    Source: DeBERTa (He et al. 2021), section 3.2.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Matrix:$table, I64Attr:$num_heads);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $table attr-dict `:` type($x) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_AttentionOp : Transformer_Op<"attention", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>,
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

    Disentangled attention adds what the contents of a query or of a key have to
    do with the distance: `query_scores` and `key_scores` (either or both, of
    `relative_scores` with P positions) add, inside of the scale,
    `query_scores[i, h * P + c]` and `key_scores[j, g * P + c]` to the product of
    query i and key j, with `c = columns[clamp(d + (N - 1) / 2, 0, N - 1)]` of the
    N, an odd number of, `columns`.

    With a `dropout_key`, probabilities are dropped at the rate that `options` say, as
    `dropout` describes; without one none is.

    `log_sum_exp`, where it is asked for, is `log(sum_j exp(S_j))`, -infinity for a
    query without any key.

    Shapes: q and result `[Tq, num_heads * D]`, k and v `[Tk, num_kv_heads * D]`,
    log_sum_exp `[Tq, num_heads]`; `scale_factor` is a scalar; query_scores
    `[Tq, num_heads * P]`, key_scores `[Tk, num_kv_heads * P]`.
    Error: widths that num_heads does not divide, num_kv_heads that does not
    divide num_heads, heads of different sizes, a bias of another shape, scores
    without columns, columns outside `[0, P)`.

    ```mlir
    %y = transformer.attention %q, %k, %v sequences(%seq, %seq) options<causal>
        {num_heads = 12 : i64, scale = 0.125 : f64} : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32> -> tensor<?x768xf32>
    ```
    Source: Vaswani et al. 2017; online softmax: Milakov and Gimelshein 2018,
    Dao et al. 2022; torch.nn.functional.scaled_dot_product_attention; grouped
    heads: Ainslie et al. 2023; bias: Raffel et al. 2020 (T5), Press et al. 2022
    (ALiBi); disentangled: He et al. 2021 (DeBERTa).
  }];
  let arguments = (ins Transformer_Rows:$q, Transformer_Rows:$k, Transformer_Rows:$v,
                       Transformer_Sequences:$query_sequences, Transformer_Sequences:$key_sequences,
                       Optional<F32>:$scale_factor, Optional<Transformer_Weight>:$position_bias,
                       Optional<Transformer_Rows>:$query_scores, Optional<Transformer_Rows>:$key_scores,
                       Optional<I64>:$dropout_key,
                       I64Attr:$num_heads, OptionalAttr<I64Attr>:$num_kv_heads,
                       F64Attr:$scale, Transformer_AttentionOptions:$options,
                       OptionalAttr<DenseI32ArrayAttr>:$columns);
  let results = (outs Transformer_Rows:$result, Optional<Transformer_Rows>:$log_sum_exp);
  let assemblyFormat = [{
    $q `,` $k `,` $v `sequences` `(` $query_sequences `,` $key_sequences `)`
    (`scale_factor` `(` $scale_factor^ `)`)? (`position_bias` `(` $position_bias^ `:` type($position_bias) `)`)?
    (`query_scores` `(` $query_scores^ `:` type($query_scores) `)`)?
    (`key_scores` `(` $key_scores^ `:` type($key_scores) `)`)? (`columns` $columns^)?
    (`dropout_key` `(` $dropout_key^ `)`)?
    (`options` `` $options^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` type($result) (`,` type($log_sum_exp)^)?
  }];
  let hasVerifier = 1;
  // Folds a constant scale_factor; drops a redundant num_kv_heads, a rate of
  // dropout or a key without the other and a log_sum_exp that nobody reads.
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Number of key/value heads: `num_kv_heads`, or `num_heads` if absent.
    int64_t kvHeads();
    /// Width of one head.
    int64_t headDim();
    bool isCausal() { return getOptions().getCausal(); }
    /// Relative positions that `query_scores` and `key_scores` are for; 0: there are none.
    int64_t numPositions();
  }];
}

#endif // DIALECT_ATTENTIONOPS_TD
