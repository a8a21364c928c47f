//===- AttentionOps.td - attention on packed rows -------------------------*- tablegen -*-===//

#ifndef DIALECT_ATTENTIONOPS_TD
#define DIALECT_ATTENTIONOPS_TD

include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_AttentionOp : Transformer_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention on heads";
  let description = [{
    For each sequence and head h: `P = softmax(scale * scale_factor * Q_h K_g^T)`,
    `result_h = P V_g`, with `g = h / (num_heads / num_kv_heads)`. Head h of
    `q` is its columns `h * D .. (h + 1) * D - 1`. A query attends to the keys of
    its own sequence only: row b of `sequences` for queries and, in
    cross-attention, row b of `memory` for keys and values. With `causal`,
    query i of a sequence attends to the keys 0 .. i. A query without any key
    gives zeros. The score matrix is never stored.

    Shapes: q and result `[Tq, num_heads * D]`, k and v `[Tk, num_kv_heads * D]`;
    `scale_factor` is a scalar.
    Error: widths that num_heads does not divide, num_kv_heads that does not
    divide num_heads, heads of different sizes, `causal` with `memory`.

    ```mlir
    %y = transformer.attention %q, %k, %v sequences(%seq) {num_heads = 12 : i64, scale = 0.125 : f64}
        : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32> -> tensor<?x768xf32>
    ```
    Source: Vaswani et al. 2017; online softmax: Milakov and Gimelshein 2018,
    Dao et al. 2022; torch.nn.functional.scaled_dot_product_attention.
  }];
  let arguments = (ins Transformer_Rows:$q, Transformer_Rows:$k, Transformer_Rows:$v,
                       Transformer_Sequences:$sequences, Optional<Transformer_Sequences>:$memory,
                       Optional<F32>:$scale_factor,
                       I64Attr:$num_heads, OptionalAttr<I64Attr>:$num_kv_heads,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `sequences` `(` $sequences `)` (`memory` `(` $memory^ `)`)?
    (`scale_factor` `(` $scale_factor^ `)`)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // folds a constant scale_factor, drops redundant memory and num_kv_heads
  let extraClassDeclaration = [{
    /// Number of key/value heads: `num_kv_heads`, or `num_heads` if absent.
    int64_t kvHeads();
    /// Width of one head.
    int64_t headDim();
    /// The sequences of keys and values.
    ::mlir::Value keySequences() { return getMemory() ? getMemory() : getSequences(); }
  }];
}

#endif // DIALECT_ATTENTIONOPS_TD
