//===- GradientKernels.td - kernels of training steps --------------------*- tablegen -*-===//
//
// Included by KernelOps.td. What an op computes says the dialect's op of its name;
// `d` in front of a name stands for a gradient with regard to it. An out that is
// called scratch is what the nest's loops leave for each other.
//
//===----------------------------------------------------------------------===//

#ifndef CODEGEN_KERNELS_GRADIENTKERNELS_TD
#define CODEGEN_KERNELS_GRADIENTKERNELS_TD

def Kernel_ShiftLabelsOp : Kernel_Op<"shift_labels"> {
  let summary = "the label of each token is its successor's";
  let description = [{ins: labels `[B, S]` i64; outs: `[B, S]` i64.}];
  let arguments = (ins Kernel_Buffer:$labels, Variadic<Kernel_Buffer>:$outs, I64Attr:$ignore_index);
  let assemblyFormat = "`ins` `(` $labels `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_CrossEntropyOp : Kernel_Op<"cross_entropy"> {
  let summary = "mean cross-entropy of rows of scores and their labels";
  let description = [{
    ins: logits `[T, V]`, labels `[T]` i64; outs: the loss, a scalar, scratch
    `[T]`, the loss of each row, and, optionally, its softmax `[T, 2]`: the largest score, and the
    sum of e^(score - it); of a row that does not count 0 and 1.
  }];
  let arguments = (ins Kernel_Buffer:$logits, Kernel_Buffer:$labels, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$ignore_index, OptionalAttr<I64Attr>:$padding_index, F64Attr:$label_smoothing);
  let assemblyFormat = "`ins` `(` $logits `,` $labels `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_CrossEntropyGradientOp : Kernel_Op<"cross_entropy_gradient", [AttrSizedOperandSegments]> {
  let summary = "backward of cross_entropy";
  let description = [{
    ins: logits `[T, V]`, labels `[T]` i64, dloss, a scalar, softmax `[T, 2]` 0 or 1 times, as `cross_entropy` has it;
    outs: dlogits `[T, V]`, f32 or rounded to bf16 or f16, or words of two bfloat16 each, `[T, S]`, S >= V / 2;
    optionally, without a softmax, the outs of `cross_entropy`: the loss and scratch `[T]`.
  }];
  let arguments = (ins Kernel_Buffer:$logits, Kernel_Buffer:$labels, Kernel_Buffer:$dloss,
                       Optional<Kernel_Buffer>:$softmax, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$ignore_index, OptionalAttr<I64Attr>:$padding_index, F64Attr:$label_smoothing);
  let assemblyFormat = "`ins` `(` $logits `,` $labels `,` $dloss (`,` `softmax` $softmax^)? `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_ElementLossOp : Kernel_Op<"element_loss"> {
  let summary = "mean of what each number adds to a loss";
  let description = [{ins: x `[T, W]`, labels `[T, W]` or `[T]` (f32, the last also i64); outs: the loss, a scalar.}];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$labels, Variadic<Kernel_Buffer>:$outs, Transformer_LossKindAttr:$kind);
  let assemblyFormat = "$kind `ins` `(` $x `,` $labels `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_ElementLossGradientOp : Kernel_Op<"element_loss_gradient"> {
  let summary = "backward of element_loss";
  let description = [{ins: x `[T, W]`, labels `[T, W]` or `[T]` (f32, the last also i64), dloss, a scalar; outs: dx `[T, W]`.}];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$labels, Kernel_Buffer:$dloss, Variadic<Kernel_Buffer>:$outs,
                       Transformer_LossKindAttr:$kind);
  let assemblyFormat = "$kind `ins` `(` $x `,` $labels `,` $dloss `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_SpanLossOp : Kernel_Op<"span_loss"> {
  let summary = "mean cross-entropy of which token of each sequence is meant";
  let description = [{
    ins: logits `[T, W]`, cu `[B + 1]` index, rows `[T]` index, positions `[B]` i64, the length
    of the padded rows; outs: the loss, a scalar.
  }];
  let arguments = (ins Kernel_Buffer:$logits, Kernel_Buffer:$cu, Kernel_Buffer:$rows, Kernel_Buffer:$positions,
                       Index:$length, Variadic<Kernel_Buffer>:$outs, I64Attr:$column);
  let assemblyFormat = "`ins` `(` $logits `,` $cu `,` $rows `,` $positions `,` $length `)` `outs` `(` $outs `)` `column` $column attr-dict `:` functional-type(operands, results)";
}

def Kernel_SpanLossGradientOp : Kernel_Op<"span_loss_gradient"> {
  let summary = "backward of span_loss";
  let description = [{ins: those of `span_loss`, then dloss, a scalar; outs: dlogits `[T, W]`.}];
  let arguments = (ins Kernel_Buffer:$logits, Kernel_Buffer:$cu, Kernel_Buffer:$rows, Kernel_Buffer:$positions,
                       Index:$length, Kernel_Buffer:$dloss, Variadic<Kernel_Buffer>:$outs, I64Attr:$column);
  let assemblyFormat = "`ins` `(` $logits `,` $cu `,` $rows `,` $positions `,` $length `,` $dloss `)` `outs` `(` $outs `)` `column` $column attr-dict `:` functional-type(operands, results)";
}

def Kernel_CountLabelsOp : Kernel_Op<"count_labels"> {
  let summary = "how many labels the mean of a loss is over";
  let description = [{ins: labels, `[T]` i64, or f32 of one or two dimensions; outs: their number, a scalar.}];
  let arguments = (ins Kernel_Buffer:$labels, Variadic<Kernel_Buffer>:$outs, I64Attr:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index);
  let assemblyFormat = "`ins` `(` $labels `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_CountSpansOp : Kernel_Op<"count_spans"> {
  let summary = "how many sequences the mean of a span_loss is over";
  let description = [{
    ins: cu `[B + 1]` index, rows `[T]` index, positions `[B]` i64, the length of the padded
    rows; outs: the number, a scalar.
  }];
  let arguments = (ins Kernel_Buffer:$cu, Kernel_Buffer:$rows, Kernel_Buffer:$positions, Index:$length,
                       Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $cu `,` $rows `,` $positions `,` $length `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_SumRowsOp : Kernel_Op<"sum_rows"> {
  let summary = "the sum of all rows, in their order";
  let description = [{ins: x `[T, W]` (rows may be strided), f32, bf16 or f16, or words `[T, S]` of two bfloat16, S >= W / 2; outs: `[W]`.}];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $x `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_SumSquaresOp : Kernel_Op<"sum_squares"> {
  let summary = "the sum of squares of all elements";
  let description = [{ins: x, static, `[W]` or `[N, W]`; outs: a scalar and scratch `[N]`, the sum of each row.}];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $x `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_NormGradientOp : Kernel_Op<"norm_gradient", [AttrSizedOperandSegments]> {
  let summary = "backward of layer_norm, with `rms` of rms_norm";
  let description = [{
    ins: x `[T, W]` (rows may be strided), gamma `[D]`, dy `[T, W]`, onto `[T, W]` 0 or 1 times,
    to which dx is added; D is W, or with `rms` a part of it. outs: dx `[T, W]`, dgamma `[D]`,
    without `rms` dbeta `[D]`, and scratch `[T, 2 W / D]`, what is subtracted from a part's numbers and what they are
    then multiplied by.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$gamma, Kernel_Buffer:$dy, Optional<Kernel_Buffer>:$onto,
                       Variadic<Kernel_Buffer>:$outs, Transformer_NormAttr:$norm, UnitAttr:$rms);
  let assemblyFormat = "`ins` `(` $x `,` $gamma `,` $dy (`,` `onto` $onto^)? `)` `outs` `(` $outs `)` `norm` `` $norm attr-dict `:` functional-type(operands, results)";
}

def Kernel_WindowsGradientOp : Kernel_Op<"windows_gradient"> {
  let summary = "backward of windows";
  let description = [{
    ins: dy `[T', kernel * W]` (rows may be strided), cu of dy and cu `[B + 1]` index; outs: dx `[T, W]`.
  }];
  let arguments = (ins Kernel_Buffer:$dy, Kernel_Buffer:$cu_dy, Kernel_Buffer:$cu, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$stride, I64Attr:$padding);
  let assemblyFormat = "`ins` `(` $dy `,` $cu_dy `,` $cu `)` `outs` `(` $outs `)` `stride` $stride `padding` $padding attr-dict `:` functional-type(operands, results)";
}

def Kernel_RelativeScoresGradientOp : Kernel_Op<"relative_scores_gradient"> {
  let summary = "backward of relative_scores";
  let description = [{
    ins: x `[T, num_heads * D]` and dy `[T, num_heads * P]` (rows may be strided), table `[P, num_heads * D]`;
    outs: dx `[T, num_heads * D]`, dtable `[P, num_heads * D]`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$table, Kernel_Buffer:$dy, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$num_heads);
  let assemblyFormat = "`ins` `(` $x `,` $table `,` $dy `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_TokenGradientOp : Kernel_Op<"token_gradient"> {
  let summary = "backward of first_token, or of last_token";
  let description = [{ins: dy `[B, W]` (rows may be strided), cu `[B + 1]` index; outs: dx `[T, W]`.}];
  let arguments = (ins Kernel_Buffer:$dy, Kernel_Buffer:$cu, Variadic<Kernel_Buffer>:$outs, UnitAttr:$last);
  let assemblyFormat = "`ins` `(` $dy `,` $cu `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_EmbeddingGradientOp : Kernel_Op<"embedding_gradient"> {
  let summary = "backward of embedding";
  let description = [{
    ins: ids `[T]` i64, dy `[T, W]` (rows may be strided); outs: dtable `[V, W]`, with
    `onto` what is added to, and, for CPUs, optionally a scalar, by how much that raises its sum of
    squares, and scratch `[W]`, the same of each column.
  }];
  let arguments = (ins Kernel_Buffer:$ids, Kernel_Buffer:$dy, Variadic<Kernel_Buffer>:$outs, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$padding_index, UnitAttr:$onto);
  let assemblyFormat = "`ins` `(` $ids `,` $dy `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_DropoutOp : Kernel_Op<"dropout"> {
  let summary = "zeros for some numbers, the others scaled up";
  let description = [{
    ins: x `[T, W]` (rows may be strided), key i64; outs: `[T, W]`, f32, which may be x's buffer, or rounded
    to bf16 or f16 or as words of two bfloat16, `[T, S]`, S >= W / 2, or both.
  }];
  let arguments = (ins Kernel_Buffer:$x, I64:$key, Variadic<Kernel_Buffer>:$outs, F64Attr:$rate);
  let assemblyFormat = "`ins` `(` $x `,` $key `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Kernel_AttentionGradientOp : Kernel_Op<"attention_gradient", [AttrSizedOperandSegments]> {
  let summary = "backward of attention";
  let description = [{
    ins: q, result and dresult `[Tq, num_heads * D]`, k and v `[Tk, num_kv_heads * D]`
    (rows may be strided; q, k, v and dresult all f32, all bf16 or all f16), log_sum_exp `[Tq, num_heads]`, cu of the queries and cu of
    the keys `[B + 1]`, scale_factor f32 0 or 1 times, position_bias `[num_heads, P]` or
    `[num_heads]` 0 or 1 times, query_scores, key_scores and columns as `attention`, dropout_key i64 0 or 1 times;
    outs: dq, dk, dv, f32 or rounded to bf16 or f16 where q is that, the gradients of position_bias, query_scores and key_scores where these are and, with a
    position_bias, scratch `[B, num_heads, P]` (P is 1 of slopes), what each sequence adds to its gradient.
  }];
  let arguments = (ins Kernel_Buffer:$q, Kernel_Buffer:$k, Kernel_Buffer:$v, Kernel_Buffer:$result,
                       Kernel_Buffer:$log_sum_exp, Kernel_Buffer:$dresult, Kernel_Buffer:$cu_queries,
                       Kernel_Buffer:$cu_keys, Optional<F32>:$scale_factor, Optional<Kernel_Buffer>:$position_bias,
                       Optional<Kernel_Buffer>:$query_scores, Optional<Kernel_Buffer>:$key_scores,
                       Optional<Kernel_Buffer>:$columns, Optional<I64>:$dropout_key, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, F64Attr:$scale, Transformer_AttentionOptions:$options);
  let assemblyFormat = [{
    `ins` `(` $q `,` $k `,` $v `,` $result `,` $log_sum_exp `,` $dresult `,` $cu_queries `,` $cu_keys
    (`,` `scale_factor` $scale_factor^)? `)` (`position_bias` `(` $position_bias^ `)`)?
    (`query_scores` `(` $query_scores^ `)`)? (`key_scores` `(` $key_scores^ `)`)? (`columns` `(` $columns^ `)`)?
    (`dropout_key` `(` $dropout_key^ `)`)? `outs` `(` $outs `)` (`options` `` $options^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Kernel_AdafactorUpdateOp : Kernel_Op<"adafactor_update"> {
  let summary = "one step of Adafactor";
  let description = [{
    ins: gradient, static, `[W]`, or of G matrices, one below the other, `[N, W]`, and numbers:
    `scale`, what it is multiplied by, `keep` and `share`, those of old and new squares in the moments, `shrink`, what
    the parameter is multiplied by, `rate`, the step's size over the parameter's root
    mean square, eps1, eps2 and clip_threshold. outs: the parameter and its moments, `[W]`, or
    `[N, 1]` and `[G, W]`, which are read as well, and scratch: of matrices `[G]`, the mean of
    the moments of a matrix' rows, then `[1]` or `[N]`, a sum of each row.
  }];
  let arguments = (ins Kernel_Buffer:$gradient, F32:$scale, F32:$keep, F32:$share, F32:$shrink, F64:$rate,
                       F64:$eps1, F64:$eps2, F64:$clip_threshold, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = [{
    `ins` `(` $gradient `)` `scale` $scale `moments` `(` $keep `,` $share `)` `shrink` $shrink `rate` $rate
    `eps` `(` $eps1 `,` $eps2 `)` `clip_threshold` $clip_threshold `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)
  }];
}

#endif // CODEGEN_KERNELS_GRADIENTKERNELS_TD
