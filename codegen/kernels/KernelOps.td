//===- KernelOps.td - destination-style kernels ---------------------------*- tablegen -*-===//
//
// Ops that stay whole through bufferisation and then become one loop nest a
// target: what linalg cannot say (attention, packing) or what one sweep over a
// row says better (norms, embeddings).
//
//===----------------------------------------------------------------------===//

#ifndef CODEGEN_KERNELS_KERNELOPS_TD
#define CODEGEN_KERNELS_KERNELOPS_TD

include "dialect/TransformerAttrs.td"
include "codegen/kernels/KernelBase.td"
include "mlir/IR/BuiltinAttributes.td"

def Kernel_Dialect : Dialect {
  let name = "transformer_kernel";
  let cppNamespace = "::mlir::transformer::kernel";
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
  let summary = "destination-style kernels between linalg and a target's loop nests";
  let description = [{
    Every op computes its `outs` from its `ins`, on tensors (results tied to the
    outs) or on memrefs (no results). `!transformer.sequences` has become two
    buffers here: `cu` (`[batch + 1]`, index: sequence b owns the rows
    `cu[b] .. cu[b + 1] - 1`) and `rows` (`[T]`, index: the place
    `b * sequence_length + s` of every packed row).
  }];
}

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Kernel_DestinationOp<Kernel_Dialect, mnemonic, traits>;

def Kernel_GetParameterOp : Op<Kernel_Dialect, "get_parameter", [Pure]> {
  let summary = "the buffer of a parameter or a prepared tensor";
  let description = [{What `transformer.get_parameter` becomes by bufferisation; never written to.}];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs AnyStridedMemRef:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Kernel_WorkOp : Op<Kernel_Dialect, "work", [MemoryEffects<[MemWrite]>]> {
  let summary = "what the loop around it does, or the launch behind it, for profiles";
  let description = [{
    Computes nothing. `amounts` are what is counted when the loop starts (tokens,
    pairs of query and key), defined outside the loop. `label` names the work;
    `shape` shows its sizes, with a `{}` for each amount; `flops` and `bytes` are
    the floating point operations and the bytes of tensors, read and written, for
    each one of an amount, `fixed_bytes` those whatever the amounts are. `layer`
    is there where the work's own parameters tell it.
    `transformer-cpu-outline-parallel` and `transformer-gpu-lower-launches` hand all
    this to the runtime (`docs/module-abi.md`). The loop is a scf.forall or a
    scf.parallel; the launch, which `transformer-gpu-map-threads` makes of the latter, is
    a gpu.launch or a gpu.launch_func. Elsewhere (the loop had a single task)
    canonicalisation erases it.
  }];
  let arguments = (ins Variadic<Index>:$amounts, StrAttr:$label, StrAttr:$shape, DenseI64ArrayAttr:$flops,
                       DenseI64ArrayAttr:$bytes, I64Attr:$fixed_bytes, OptionalAttr<StrAttr>:$layer);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "$label $shape `(` $amounts `)` attr-dict";
}

def Kernel_CountTokensOp : Op<Kernel_Dialect, "count_tokens", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "number of elements of a mask that are not zero";
  let arguments = (ins Kernel_Buffer:$mask);
  let results = (outs Index:$count);
  let hasVerifier = 1;
  let assemblyFormat = "$mask attr-dict `:` type($mask)";
}

def Kernel_PackTokensOp : Kernel_Op<"pack_tokens", [AttrSizedOperandSegments]> {
  let summary = "packed ids, sequence offsets and places of the unmasked tokens";
  let description = [{
    ins: mask `[B, S]` i64, then inputs `[B, S]` i64; outs: cu `[B + 1]` index,
    rows `[T]` index, then a `[T]` i64 for every input.
  }];
  let arguments = (ins Kernel_Buffer:$mask, Variadic<Kernel_Buffer>:$inputs, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $mask (`,` $inputs^)? `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_CountLabelledTokensOp : Op<Kernel_Dialect, "count_labelled_tokens", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "number of elements of a mask that are not zero and whose label counts";
  let description = [{Sizes of buffers follow from it, so it reads inputs of the model alone. Semantics: `transformer.labelled_tokens`.}];
  let arguments = (ins Kernel_Buffer:$labels, Kernel_Buffer:$mask, I64Attr:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index, UnitAttr:$shifted);
  let results = (outs Index:$count);
  let hasVerifier = 1;
  let assemblyFormat = "$labels `,` $mask attr-dict `:` type($labels) `,` type($mask)";
}

def Kernel_LabelledTokensOp : Kernel_Op<"labelled_tokens"> {
  let summary = "labels of tokens that a loss is about, and where they are";
  let description = [{
    ins: labels and mask `[B, S]` i64; outs: cu `[N + 1]` index, whose last is the number of
    tokens, labels `[N]` i64. Semantics: `transformer.labelled_tokens`.
  }];
  let arguments = (ins Kernel_Buffer:$labels, Kernel_Buffer:$mask, Variadic<Kernel_Buffer>:$outs, I64Attr:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index, UnitAttr:$shifted);
  let assemblyFormat = "`ins` `(` $labels `,` $mask `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_UniformSequencesOp : Kernel_Op<"uniform_sequences"> {
  let summary = "offsets and places of sequences of one length";
  let description = [{outs: cu `[B + 1]` index, rows `[B * length]` index. Semantics: `transformer.uniform_sequences`.}];
  let arguments = (ins Variadic<Kernel_Buffer>:$outs, I64Attr:$length);
  let assemblyFormat = "`length` $length `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_TokenColumnsOp : Kernel_Op<"token_columns"> {
  let summary = "the column that every token came from";
  let description = [{ins: rows `[T]` index, the length of the padded rows; outs: `[T]` i64.}];
  let arguments = (ins Kernel_Buffer:$rows, Index:$length, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $rows `,` $length `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_PatchesOp : Kernel_Op<"patches"> {
  let summary = "the patches of images or of signals, a row each";
  let description = [{
    ins: x `[B, C, H, W]` or `[B, C, L]` f32, rows `[T]` index; outs: `[T, C * product of sizes]`.
    Semantics: `transformer.patches`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$rows, Variadic<Kernel_Buffer>:$outs,
                       DenseI64ArrayAttr:$sizes, I64Attr:$first);
  let assemblyFormat = "`ins` `(` $x `,` $rows `)` `outs` `(` $outs `)` `sizes` $sizes `first` $first attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = Kernel_DestinationDeclaration # [{
    /// x as images of C channels, H lines (a signal has one) and W columns, and a patch's lines and columns.
    struct Sizes {
      int64_t channels, height, width, down, across;
      /// Patches of a line; of an item.
      int64_t columns() const { return width / across; }
      int64_t patches() const { return height / down * columns(); }
    };
    Sizes sizes();
  }];
}

def Kernel_WindowsOp : Kernel_Op<"windows"> {
  let summary = "each token beside its neighbours, as one row";
  let description = [{
    ins: x `[T, W]` f32 (rows may be strided), cu and cu of the result `[B + 1]` index; outs: `[T', kernel * W]`.
    Semantics: `transformer.windows`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$cu, Kernel_Buffer:$cu_result, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$stride, I64Attr:$padding);
  let assemblyFormat = "`ins` `(` $x `,` $cu `,` $cu_result `)` `outs` `(` $outs `)` `stride` $stride `padding` $padding attr-dict `:` functional-type(operands, results)";
}

def Kernel_UnpackTokensOp : Kernel_Op<"unpack_tokens"> {
  let summary = "rows back into [B, S, W] or one column into [B, S], zeros elsewhere";
  let description = [{ins: x `[T, W]` f32, rows `[T]` index; outs: `[B, S, W]`, with `column` `[B, S]`.}];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$rows, Variadic<Kernel_Buffer>:$outs, OptionalAttr<I64Attr>:$column);
  let assemblyFormat = "`ins` `(` $x `,` $rows `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_FirstTokenOp : Kernel_Op<"first_token"> {
  let summary = "the first row of every sequence, zeros for an empty one";
  let description = [{ins: x `[T, W]` f32, cu `[B + 1]` index; outs: `[B, W]`. With `last` the last row, with `chosen` row b of x `[B, W]`.}];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$cu, Variadic<Kernel_Buffer>:$outs, UnitAttr:$last, UnitAttr:$chosen);
  let assemblyFormat = "`ins` `(` $x `,` $cu `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_EmbeddingOp : Kernel_Op<"embedding", [AttrSizedOperandSegments]> {
  let summary = "sum of table rows, scaled, optionally normalised";
  let description = [{
    `y[t] = sum_i scales[i] * tables[i][ids[i][t]]` in order, then layer
    normalisation by `formula` when `norm` (gamma, beta) is there; scales of 1
    multiply nothing. ins: ids `[T]` i64, tables `[V, W]` f32, norm 0 or 2 times `[W]`;
    outs: `[T, W]`.
  }];
  let arguments = (ins Variadic<Kernel_Buffer>:$ids, Variadic<Kernel_Buffer>:$tables, Variadic<Kernel_Buffer>:$norm,
                       Variadic<Kernel_Buffer>:$outs, OptionalAttr<Transformer_NormAttr>:$formula,
                       DenseF64ArrayAttr:$scales);
  let assemblyFormat = "`ids` `(` $ids `)` `tables` `(` $tables `)` (`norm` `(` $norm^ `)` $formula)? `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_LayerNormOp : Kernel_Op<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "layer normalisation, with an optional residual added first";
  let description = [{
    ins: x `[T, W]` (rows may be strided), residual 0 or 1 times `[T, W]`, gamma
    and beta `[W]`; outs: result `[T, W]`, which may be rounded to bf16 or f16, and, optionally,
    the sum x + residual `[T, W]` and the result again, rounded, also as words of two bfloat16, `[T, S]`, S >= W / 2. x may be the same buffer as an out. With `rms` there is no beta and
    rows are divided by their root mean square; then gamma may be `[D]`, of which
    W is a multiple: parts of D columns are rows of their own. Semantics:
    `transformer.layer_norm`, `rms_norm`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$residual, Kernel_Buffer:$gamma, Optional<Kernel_Buffer>:$beta,
                       Variadic<Kernel_Buffer>:$outs, Transformer_NormAttr:$norm, UnitAttr:$rms);
  let extraClassDeclaration = Kernel_DestinationDeclaration # [{
    /// Outs; null: there is none.
    ::mlir::Value getSum();
    ::mlir::Value getRounded();
  }];
  let assemblyFormat = "`ins` `(` $x (`residual` `(` $residual^ `)`)? `,` $gamma (`,` $beta^)? `)` `outs` `(` $outs `)` `norm` `` $norm attr-dict `:` functional-type(operands, results)";
}

def Kernel_AttentionOp : Kernel_Op<"attention", [AttrSizedOperandSegments]> {
  let summary = "attention on packed rows with an online softmax";
  let description = [{
    ins: q `[Tq, num_heads * D]`, k and v `[Tk, num_kv_heads * D]` (rows may be
    strided: columns of a merged projection; all f32, all bf16 or all f16), cu of the queries and cu of the
    keys `[B + 1]`, scale_factor f32 0 or 1 times, position_bias `[num_heads, P]`
    or `[num_heads]` 0 or 1 times, query_scores `[Tq, num_heads * P]`, key_scores
    `[Tk, num_kv_heads * P]` and columns `[N]` i32, dropout_key i64 0 or 1 times; outs: result `[Tq, num_heads * D]` and,
    optionally, log_sum_exp `[Tq, num_heads]`; of bf16 or f16 heads the result may be
    that, too. Semantics: `transformer.attention`.
  }];
  let arguments = (ins Kernel_Buffer:$q, Kernel_Buffer:$k, Kernel_Buffer:$v, Kernel_Buffer:$cu_queries,
                       Kernel_Buffer:$cu_keys, Variadic<F32>:$scale_factor,
                       Optional<Kernel_Buffer>:$position_bias, Optional<Kernel_Buffer>:$query_scores,
                       Optional<Kernel_Buffer>:$key_scores, Optional<Kernel_Buffer>:$columns,
                       Optional<I64>:$dropout_key, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, F64Attr:$scale,
                       Transformer_AttentionOptions:$options);
  let assemblyFormat = [{
    `ins` `(` $q `,` $k `,` $v `,` $cu_queries `,` $cu_keys (`,` `scale_factor` $scale_factor^)? `)`
    (`position_bias` `(` $position_bias^ `)`)? (`query_scores` `(` $query_scores^ `)`)?
    (`key_scores` `(` $key_scores^ `)`)? (`columns` `(` $columns^ `)`)?
    (`dropout_key` `(` $dropout_key^ `)`)? `outs` `(` $outs `)` (`options` `` $options^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Kernel_RelativeScoresOp : Kernel_Op<"relative_scores"> {
  let summary = "products of every head with the rows of a table";
  let description = [{
    ins: x `[T, num_heads * D]` (rows may be strided), table `[P, num_heads * D]`; outs: `[T, num_heads * P]`.
    Semantics: `transformer.relative_scores`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$table, Variadic<Kernel_Buffer>:$outs, I64Attr:$num_heads);
  let assemblyFormat = "`ins` `(` $x `,` $table `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_AppendPagesOp : Kernel_Op<"append_pages"> {
  let summary = "new keys and values into the pages of their sequences";
  let description = [{
    ins: k and v `[T, W]` (rows may be strided), cu `[B + 1]`, table `[B, M]` i64,
    lengths `[B]` i64; outs: the cache `[pages, 2 * P, W]`, f32, bf16 or f16 as k and v are,
    of which only the new places are written. Semantics: `transformer.append_pages`; where in a page a
    key or a value lies is agreed between this kernel and `paged_attention`.
  }];
  let arguments = (ins Kernel_Buffer:$k, Kernel_Buffer:$v, Kernel_Buffer:$cu, Kernel_Buffer:$table, Kernel_Buffer:$lengths,
                       Variadic<Kernel_Buffer>:$outs, I64Attr:$num_heads);
  let assemblyFormat = "`ins` `(` $k `,` $v `,` $cu `,` $table `,` $lengths `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_PagedAttentionOp : Kernel_Op<"paged_attention", [AttrSizedOperandSegments]> {
  let summary = "attention to keys and values in pages";
  let description = [{
    ins: q `[T, num_heads * D]` (rows may be strided), f32 or what the cache is, cache `[pages, 2 * P, num_kv_heads * D]`,
    f32, bf16 or f16, cu `[B + 1]`, table `[B, M]` i64, lengths `[B]` i64, scale_factor f32 0 or 1
    times, position_bias `[num_heads, P]` or `[num_heads]` 0 or 1 times; outs: `[T, num_heads * D]`, f32 or what q is. Semantics:
    `transformer.paged_attention`.
  }];
  let arguments = (ins Kernel_Buffer:$q, Kernel_Buffer:$cache, Kernel_Buffer:$cu, Kernel_Buffer:$table, Kernel_Buffer:$lengths,
                       Optional<F32>:$scale_factor, Optional<Kernel_Buffer>:$position_bias, Variadic<Kernel_Buffer>:$outs, I64Attr:$num_heads,
                       I64Attr:$num_kv_heads, F64Attr:$scale, Transformer_AttentionOptions:$options);
  let assemblyFormat = [{
    `ins` `(` $q `,` $cache `,` $cu `,` $table `,` $lengths (`,` `scale_factor` $scale_factor^)? `)` (`position_bias` `(` $position_bias^ `)`)?
    `outs` `(` $outs `)` (`options` `` $options^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Kernel_SinusoidalTableOp : Kernel_Op<"sinusoidal_table"> {
  let summary = "the sinusoid table, computed in double precision";
  let description = [{outs: `[P, W]`. Semantics: `transformer.sinusoidal_table`.}];
  let arguments = (ins Variadic<Kernel_Buffer>:$outs, Transformer_SinusoidLayoutAttr:$layout);
  let assemblyFormat = "$layout `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_RotaryTableOp : Kernel_Op<"rotary_table"> {
  let summary = "cosines and sines of positions, computed in double precision";
  let description = [{
    ins: positions `[T]` i64, frequencies `[R / 2]` f64; outs: `[T, R]`.
    Semantics: `transformer.rotary_table`.
  }];
  let arguments = (ins Kernel_Buffer:$positions, Kernel_Buffer:$frequencies, Variadic<Kernel_Buffer>:$outs,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let assemblyFormat = "`ins` `(` $positions `,` $frequencies `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_RotaryEmbeddingOp : Kernel_Op<"rotary_embedding"> {
  let summary = "rotates pairs of columns by the token's position";
  let description = [{
    ins: x `[T, num_heads * D]` (rows may be strided), table `[T, R]`; outs:
    `[T, num_heads * D]`, which may be x's buffer, or rounded to bf16 or f16. Semantics:
    `transformer.rotary_embedding`, with `inverse` its gradient's.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$table, Variadic<Kernel_Buffer>:$outs, I64Attr:$num_heads,
                       UnitAttr:$inverse);
  let assemblyFormat = "`ins` `(` $x `,` $table `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

include "codegen/kernels/GradientKernels.td"

#endif // CODEGEN_KERNELS_KERNELOPS_TD
