//===- CacheOps.td - keys and values of earlier calls -------------------*- tablegen -*-===//
//
// A cache has pages of P positions; a table says which pages hold a sequence's
// keys and values. How they lie within a page is the target's own business: only
// these ops read pages, and whole pages may be copied.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_CACHEOPS_TD
#define DIALECT_CACHEOPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `[pages, 2 * P, W]`: P positions a page, keys and values of width W.
def Transformer_Cache : Type<
    And<[TensorRankOf<[F32], [3]>.predicate,
         CPred<"::llvm::all_of(::llvm::cast<::mlir::RankedTensorType>($_self).getShape().drop_front(), "
               "[](int64_t size) { return size > 0; })">]>,
    "3D tensor of f32 with static inner sizes, not 0 ([pages, 2 * positions, width])", "::mlir::RankedTensorType">;

def Transformer_AppendPagesOp : Transformer_Op<"append_pages",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["cache", "result"]>]> {
  let summary = "writes new keys and values behind those of earlier calls";
  let description = [{
    Sequence b has `lengths[b]` positions, the last of which are the rows of k and
    v that `sequences` gives it. Position p of it lies in page `table[b, p / P]`,
    place `p % P`; the result is the cache with the new rows at their places.
    The cache is state (`transformer.state`): it is updated in place.

    Shapes: k and v `[T, W]`, cache and result `[pages, 2 * P, W]`, table `[B, M]`,
    lengths `[B]`.
    Error: widths that differ, num_heads that does not divide W, an odd `2 * P`.
    Undefined: a page outside the cache, lengths below the number of rows or
    above `M * P`.

    ```mlir
    %c1 = transformer.append_pages %k, %v, %c0 sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
        {num_heads = 4 : i64} : tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x128x256xf32>
    ```
    Source: Kwon et al. 2023 (PagedAttention).
  }];
  let arguments = (ins Transformer_Rows:$k, Transformer_Rows:$v, Transformer_Cache:$cache,
                       Transformer_Sequences:$sequences, Transformer_IdGrid:$table, Transformer_Ids:$lengths,
                       I64Attr:$num_heads);
  let results = (outs Transformer_Cache:$result);
  let assemblyFormat = [{
    $k `,` $v `,` $cache `sequences` `(` $sequences `)` `pages` `(` $table `:` type($table) `,` $lengths `:` type($lengths) `)`
    attr-dict `:` type($k) `,` type($v) `,` type($cache)
  }];
  let hasVerifier = 1;
}

def Transformer_PagedAttentionOp : Transformer_Op<"paged_attention",
    [Pure, AttrSizedOperandSegments, Transformer_CostOpInterface]> {
  let summary = "attention to keys and values in a cache";
  let description = [{
    `attention` whose keys and values are the `lengths[b]` positions of sequence b
    in `cache`, in pages as `append_pages` says. With the sequence's own rows
    appended before, its first rows, its next ones and single ones behind them
    give the bits that all of them together give.

    Shapes: q and result `[T, num_heads * D]`, cache `[pages, 2 * P, num_kv_heads * D]`,
    table `[B, M]`, lengths `[B]`, scale_factor and position_bias as for
    `attention`.
    Error: as `attention`.

    ```mlir
    %y = transformer.paged_attention %q, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
        options<causal> {num_heads = 8 : i64, num_kv_heads = 4 : i64, scale = 0.125 : f64}
        : tensor<?x512xf32>, tensor<?x128x256xf32> -> tensor<?x512xf32>
    ```
    Source: Kwon et al. 2023 (PagedAttention).
  }];
  let arguments = (ins Transformer_Rows:$q, Transformer_Cache:$cache, Transformer_Sequences:$sequences,
                       Transformer_IdGrid:$table, Transformer_Ids:$lengths, Optional<F32>:$scale_factor,
                       Optional<Transformer_Weight>:$position_bias,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, F64Attr:$scale,
                       Transformer_AttentionOptions:$options);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $q `,` $cache `sequences` `(` $sequences `)` `pages` `(` $table `:` type($table) `,` $lengths `:` type($lengths) `)`
    (`scale_factor` `(` $scale_factor^ `)`)? (`position_bias` `(` $position_bias^ `:` type($position_bias) `)`)?
    (`options` `` $options^)? attr-dict `:` type($q) `,` type($cache) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // DIALECT_CACHEOPS_TD
