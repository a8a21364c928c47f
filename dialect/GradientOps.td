//===- GradientOps.td - losses, and the backward of ops -----------------*- tablegen -*-===//
//
// `d` in front of a name stands for the gradient of the loss with regard to it.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_GRADIENTOPS_TD
#define DIALECT_GRADIENTOPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_Scalar : Type<TensorRankOf<[F32], [0]>.predicate, "scalar tensor of f32", "::mlir::RankedTensorType">;

def Transformer_ShiftLabelsOp : Transformer_Op<"shift_labels", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["labels", "result"]>]> {
  let summary = "the label of each token is its successor's";
  let description = [{
    `result[b, s] = labels[b, s + 1]`, and `ignore_index` in the last column: what a
    model that predicts the next token is compared with.

    Shapes: labels and result `[B, S]`.

    ```mlir
    %next = transformer.shift_labels %labels : tensor<?x?xi64>
    ```
    Source: ForCausalLMLoss of transformers.
  }];
  let arguments = (ins Transformer_IdGrid:$labels, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Transformer_IdGrid:$result);
  let assemblyFormat = "$labels attr-dict `:` type($labels)";
}

def Transformer_CrossEntropyOp : Transformer_Op<"cross_entropy", [Pure, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "mean cross-entropy of rows of scores and their labels";
  let description = [{
    With `l` the labels, `p = softmax(logits[t, :])` of V classes and
    `e = label_smoothing`, the mean over all t with neither `l[t] = ignore_index` nor
    `l[t] = padding_index` of
    `-(1 - e) log p[l[t]] - e / V sum_v log p[v]`; 0 where none counts.

    Shapes: logits `[T, V]`, labels `[T]`, result a scalar.
    Error: labels of another number of rows, a label_smoothing outside [0, 1). A label
    that counts outside `[0, V)` is refused by the runtime before the call.

    ```mlir
    %loss = transformer.cross_entropy %logits, %labels : tensor<?x50257xf32>, tensor<?xi64> -> tensor<f32>
    ```
    Source: torch.nn.CrossEntropyLoss, reduction "mean" (which gives NaN where none counts).
  }];
  let arguments = (ins Transformer_Rows:$logits, Transformer_Ids:$labels,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Transformer_Scalar:$loss);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` type($logits) `,` type($labels) `->` type($loss)";
  let hasVerifier = 1;
}

def Transformer_CrossEntropyGradientOp : Transformer_Op<"cross_entropy_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["logits", "dlogits"]>]> {
  let summary = "backward of cross_entropy";
  let description = [{
    `dlogits[t, v] = dloss / n (p[v] - (1 - e) [v = l[t]] - e / V)` where row t
    counts, n being how many do, else 0.

    Shapes: as `cross_entropy`; dloss a scalar, dlogits `[T, V]`.

    ```mlir
    %d = transformer.cross_entropy_gradient %logits, %labels, %dloss : tensor<?x50257xf32>, tensor<?xi64>, tensor<f32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$logits, Transformer_Ids:$labels, Transformer_Scalar:$dloss,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Transformer_Rows:$dlogits);
  let assemblyFormat = "$logits `,` $labels `,` $dloss attr-dict `:` type($logits) `,` type($labels) `,` type($dloss)";
}

def Transformer_ElementLossOp : Transformer_Op<"element_loss", [Pure, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "mean of what each number adds to a loss";
  let description = [{
    The mean over all elements x of `x` and y of `labels` of

    - `squared`: `(x - y)^2`
    - `binary_cross_entropy`: `-y log s(x) - (1 - y) log(1 - s(x))` with the logistic s,
      computed as `max(x, 0) - x y + log(1 + e^-|x|)`

    and 0 where there is none.

    Shapes: x `[T, W]`, labels `[T, W]` or, if W is 1, `[T]`, which may be integers; result
    a scalar. Error: labels of another width.

    ```mlir
    %loss = transformer.element_loss squared %x, %labels : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<f32>
    ```
    Source: torch.nn.MSELoss and BCEWithLogitsLoss, reduction "mean".
  }];
  let arguments = (ins Transformer_LossKindAttr:$kind, Transformer_Rows:$x,
                       AnyTypeOf<[Transformer_Rows, TensorRankOf<[F32, I64], [1]>]>:$labels);
  let results = (outs Transformer_Scalar:$loss);
  let assemblyFormat = "$kind $x `,` $labels attr-dict `:` type($x) `,` type($labels) `->` type($loss)";
  let hasVerifier = 1;
}

def Transformer_ElementLossGradientOp : Transformer_Op<"element_loss_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["x", "dx"]>]> {
  let summary = "backward of element_loss";
  let description = [{
    `dx = dloss / n * 2 (x - y)` of `squared`, `dloss / n * (s(x) - y)` of
    `binary_cross_entropy`, n being the number of elements.

    Shapes: as `element_loss`; dloss a scalar, dx `[T, W]`.

    ```mlir
    %dx = transformer.element_loss_gradient squared %x, %labels, %dloss : tensor<?x3xf32>, tensor<?x3xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Transformer_LossKindAttr:$kind, Transformer_Rows:$x,
                       AnyTypeOf<[Transformer_Rows, TensorRankOf<[F32, I64], [1]>]>:$labels, Transformer_Scalar:$dloss);
  let results = (outs Transformer_Rows:$dx);
  let assemblyFormat = "$kind $x `,` $labels `,` $dloss attr-dict `:` type($x) `,` type($labels) `,` type($dloss)";
  let hasVerifier = 1;
}

def Transformer_SpanLossOp : Transformer_Op<"span_loss", [Pure, Transformer_CostOpInterface,
    DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>]> {
  let summary = "mean cross-entropy of which token of each sequence is meant";
  let description = [{
    With `p` the softmax of `logits[t, column]` over the tokens t of a sequence b, and t(b)
    that of them which came from the column `max(positions[b], 0)` of row b of
    `[batch, sequence]`, the mean over all b that have one of `-log p[t(b)]`; 0 where none has.

    Shapes: logits `[T, W]`, positions `[B]`, result a scalar. Error: a column outside `[0, W)`.

    ```mlir
    %start = transformer.span_loss %logits, %seq, %start_positions column 0 : tensor<?x2xf32>, tensor<?xi64> -> tensor<f32>
    ```
    Source: Devlin et al. 2019, section 4.2; ForQuestionAnsweringLoss of transformers, whose
    softmax goes over padding, too.
  }];
  let arguments = (ins Transformer_Rows:$logits, Transformer_Sequences:$sequences, Transformer_Ids:$positions,
                       I64Attr:$column);
  let results = (outs Transformer_Scalar:$loss);
  let assemblyFormat = [{
    $logits `,` $sequences `,` $positions `column` $column attr-dict `:` type($logits) `,` type($positions) `->` type($loss)
  }];
  let hasVerifier = 1;
}

def Transformer_SpanLossGradientOp : Transformer_Op<"span_loss_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["logits", "dlogits"]>]> {
  let summary = "backward of span_loss";
  let description = [{
    `dlogits[t, column] = dloss / n (p[t] - [t = t(b)])` in sequences that count, n being
    how many do, else 0; 0 in other columns.

    Shapes: as `span_loss`; dloss a scalar, dlogits `[T, W]`. Error: as `span_loss`.

    ```mlir
    %d = transformer.span_loss_gradient %logits, %seq, %start_positions, %dloss column 0
        : tensor<?x2xf32>, tensor<?xi64>, tensor<f32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$logits, Transformer_Sequences:$sequences, Transformer_Ids:$positions,
                       Transformer_Scalar:$dloss, I64Attr:$column);
  let results = (outs Transformer_Rows:$dlogits);
  let assemblyFormat = [{
    $logits `,` $sequences `,` $positions `,` $dloss `column` $column attr-dict
    `:` type($logits) `,` type($positions) `,` type($dloss)
  }];
  let hasVerifier = 1;
}

def Transformer_CountLabelsOp : Transformer_Op<"count_labels", [Pure, Transformer_CostOpInterface]> {
  let summary = "how many labels the mean of a loss is over";
  let description = [{
    The number of labels that are neither `ignore_index` nor `padding_index`, those that
    `cross_entropy` takes the mean over; of numbers all, as `element_loss` does. With it the
    loss of a batch can be summed from those of its parts.

    Shapes: labels `[T]` of integers, or numbers of any size; result a scalar.
    Error: a `padding_index` of labels that are numbers.

    ```mlir
    %n = transformer.count_labels %labels : tensor<?xi64> -> tensor<f32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Transformer_Ids, TensorRankOf<[F32], [1, 2]>]>:$labels,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Transformer_Scalar:$count);
  let assemblyFormat = "$labels attr-dict `:` type($labels) `->` type($count)";
  let hasVerifier = 1;
}

def Transformer_CountSpansOp : Transformer_Op<"count_spans", [Pure, Transformer_CostOpInterface]> {
  let summary = "how many sequences the mean of a span_loss is over";
  let description = [{
    The number of sequences that have a token of the column `max(positions[b], 0)`.

    Shapes: positions `[B]`, result a scalar.

    ```mlir
    %n = transformer.count_spans %start_positions, %seq : tensor<?xi64> -> tensor<f32>
    ```
  }];
  let arguments = (ins Transformer_Ids:$positions, Transformer_Sequences:$sequences);
  let results = (outs Transformer_Scalar:$count);
  let assemblyFormat = "$positions `,` $sequences attr-dict `:` type($positions) `->` type($count)";
}

def Transformer_LinearWeightGradientOp : Transformer_Op<"linear_weight_gradient",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "backward of linear, with regard to its weight";
  let description = [{
    `dweight(n, k) = onto(n, k) + sum over t of dy[t, n] x[t, k]`, as `[N, K]` (`out_in`)
    or `[K, N]` (`in_out`). Without `onto`, the gradient of other rows, it is added to 0.

    Shapes: x `[T, K]`, dy `[T, N]`. Error: a result of other sizes, an onto of another
    type than dweight.

    ```mlir
    %dw = transformer.linear_weight_gradient %x, %dy out_in : tensor<?x768xf32>, tensor<?x3072xf32> -> tensor<3072x768xf32>
    %both = transformer.linear_weight_gradient %x1, %dy1 onto(%dw : tensor<3072x768xf32>) out_in
        : tensor<?x768xf32>, tensor<?x3072xf32> -> tensor<3072x768xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Rows:$dy, Optional<Transformer_Matrix>:$onto,
                       Transformer_WeightLayoutAttr:$layout);
  let results = (outs Transformer_Matrix:$dweight);
  let assemblyFormat = [{
    $x `,` $dy (`onto` `(` $onto^ `:` type($onto) `)`)? $layout attr-dict `:` type($x) `,` type($dy) `->` type($dweight)
  }];
  let hasVerifier = 1;
}

def Transformer_SumRowsOp : Transformer_Op<"sum_rows", [Pure, Transformer_CostOpInterface]> {
  let summary = "the sum of all rows";
  let description = [{
    `result[w] = sum over t of x[t, w]`, in the order of t: the backward of a bias.

    Shapes: x `[T, W]`, result `[W]`. Error: another width.

    ```mlir
    %db = transformer.sum_rows %dy : tensor<?x3072xf32> -> tensor<3072xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x);
  let results = (outs Transformer_Vector:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ActivationGradientOp : Transformer_Op<"activation_gradient",
    !listconcat([Pure, SameOperandsAndResultType, Transformer_CostOpInterface], ElementwiseMappable.traits)> {
  let summary = "backward of activation";
  let description = [{
    `dx = dy f'(x)` for the function `kind` of `transformer.activation`; relu's
    derivative is 0 at 0.

    Shapes: any `[T, W]`, all the same; scalars or vectors inside of elementwise ops.

    ```mlir
    %dx = transformer.activation_gradient gelu %x, %dy : tensor<?x3072xf32>
    ```
  }];
  let arguments = (ins Transformer_ActivationKindAttr:$kind, Transformer_RowsOrScalar:$x, Transformer_RowsOrScalar:$dy);
  let results = (outs Transformer_RowsOrScalar:$dx);
  let assemblyFormat = "$kind $x `,` $dy attr-dict `:` type($x)";
}

def Transformer_LayerNormGradientOp : Transformer_Op<"layer_norm_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["x", "dy", "dx"]>, AllTypesMatch<["gamma", "dgamma", "dbeta"]>]> {
  let summary = "backward of layer_norm";
  let description = [{
    With `h = (x - mean) / d` of each row and `g = dy * gamma`:
    `dx = (g - mean(g) - h c sum(g h)) / d`, where c is `1 / W`, with `unbiased`
    `1 / (W - 1)`, and with `eps_outside` divided by `1 - eps / d`;
    `dgamma = sum over t of dy h`, `dbeta = sum over t of dy`. dx is added to `onto`, another
    gradient of x (`transformer-fuse-residual-norm`), where there is one.

    Shapes: x, dy, onto and dx `[T, W]`; gamma, dgamma and dbeta `[W]`. Errors: as `layer_norm`,
    and an onto of another type than x.

    ```mlir
    %dx, %dgamma, %dbeta = transformer.layer_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-12> : tensor<?x768xf32>, tensor<768xf32>
    %sum, %dgamma, %dbeta = transformer.layer_norm_gradient %x, %gamma, %dy onto(%residual) norm<eps = 1.0e-12>
        : tensor<?x768xf32>, tensor<768xf32>, tensor<?x768xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Vector:$gamma, Transformer_Rows:$dy,
                       Optional<Transformer_Rows>:$onto, Transformer_NormAttr:$norm);
  let results = (outs Transformer_Rows:$dx, Transformer_Vector:$dgamma, Transformer_Vector:$dbeta);
  let assemblyFormat = "$x `,` $gamma `,` $dy (`onto` `(` $onto^ `)`)? `norm` `` $norm attr-dict `:` type($x) `,` type($gamma) (`,` type($onto)^)?";
  let hasVerifier = 1;
}

def Transformer_RmsNormGradientOp : Transformer_Op<"rms_norm_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["x", "dy", "dx"]>, AllTypesMatch<["gamma", "dgamma"]>]> {
  let summary = "backward of rms_norm";
  let description = [{
    With `h = x / d` of each row, or part of one, of width W and `g = dy * gamma`:
    `dx = (g - h mean(g h)) / d`, `dgamma = sum of dy h` over all of them. dx is added to `onto`,
    another gradient of x (`transformer-fuse-residual-norm`), where there is one.

    Shapes: x, dy, onto and dx `[T, W num_heads]`, gamma and dgamma `[W]`. Errors: as `rms_norm`,
    and an onto of another type than x.

    ```mlir
    %dx, %dgamma = transformer.rms_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-6> : tensor<?x2048xf32>, tensor<2048xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Vector:$gamma, Transformer_Rows:$dy,
                       Optional<Transformer_Rows>:$onto, Transformer_NormAttr:$norm,
                       DefaultValuedAttr<I64Attr, "1">:$num_heads);
  let results = (outs Transformer_Rows:$dx, Transformer_Vector:$dgamma);
  let assemblyFormat = "$x `,` $gamma `,` $dy (`onto` `(` $onto^ `)`)? `norm` `` $norm attr-dict `:` type($x) `,` type($gamma) (`,` type($onto)^)?";
  let hasVerifier = 1;
}

def Transformer_EmbeddingGradientOp : Transformer_Op<"embedding_gradient", [Pure, Transformer_CostOpInterface]> {
  let summary = "backward of embedding";
  let description = [{
    `dtable[v, :] = onto[v, :] + scale * sum of dy[t, :]` over all t with `ids[t] = v`, in
    the order of t; nothing is added to the row `padding_index`. Without `onto`, which is
    another gradient of the table, it is added to 0. A second result is the sum of squares of
    dtable less that of onto: of rows that no id names both have the same.

    Shapes: ids `[T]`, dy `[T, W]`, onto and dtable `[V, W]`, squares a scalar. Error: widths that
    differ, an onto of another type than dtable.

    ```mlir
    %dt = transformer.embedding_gradient %ids, %dy : tensor<?xi64>, tensor<?x768xf32> -> tensor<30522x768xf32>
    %sum = transformer.embedding_gradient %ids, %dy onto(%dhead)
        : tensor<?xi64>, tensor<?x768xf32>, tensor<30522x768xf32> -> tensor<30522x768xf32>
    %both, %more = transformer.embedding_gradient %ids, %dy onto(%dhead)
        : tensor<?xi64>, tensor<?x768xf32>, tensor<30522x768xf32> -> tensor<30522x768xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Transformer_Ids:$ids, Transformer_Rows:$dy, Optional<Transformer_Matrix>:$onto,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Transformer_Matrix:$dtable, Optional<Transformer_Scalar>:$squares);
  let assemblyFormat = [{
    $ids `,` $dy (`onto` `(` $onto^ `)`)? attr-dict `:` type($ids) `,` type($dy) (`,` type($onto)^)? `->` type($dtable) (`,` type($squares)^)?
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Transformer_RotaryEmbeddingGradientOp : Transformer_Op<"rotary_embedding_gradient",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["dy", "dx"]>]> {
  let summary = "backward of rotary_embedding";
  let description = [{
    Pairs of columns turned the other way round:
    `dx[i] = dy[i] c[i] + dy[i + R / 2] s[i]`, `dx[i + R / 2] = dy[i + R / 2] c[i] - dy[i] s[i]`.

    Shapes: dy and dx `[T, num_heads * D]`, table `[T, R]`. Error: as `rotary_embedding`.

    ```mlir
    %dx = transformer.rotary_embedding_gradient %dy, %table {num_heads = 32 : i64} : tensor<?x2048xf32>, tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$dy, Transformer_Rows:$table, I64Attr:$num_heads);
  let results = (outs Transformer_Rows:$dx);
  let assemblyFormat = "$dy `,` $table attr-dict `:` type($dy) `,` type($table)";
}

def Transformer_WindowsGradientOp : Transformer_Op<"windows_gradient",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "backward of windows";
  let description = [{
    `dx[i, :]` is the sum of the places of dy that hold token i of its sequence, in the
    order of the windows.

    Shapes: dy `[T', kernel * W]`, dx `[T, W]`. Error: a width of dy that is no multiple.

    ```mlir
    %dx = transformer.windows_gradient %dy, %out_seq, %seq stride 2 padding 1 : tensor<?x240xf32> -> tensor<?x80xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$dy, Transformer_Sequences:$result_sequences,
                       Transformer_Sequences:$sequences, I64Attr:$stride, I64Attr:$padding);
  let results = (outs Transformer_Rows:$dx);
  let assemblyFormat = [{
    $dy `,` $result_sequences `,` $sequences `stride` $stride `padding` $padding attr-dict `:` type($dy) `->` type($dx)
  }];
  let hasVerifier = 1;
}

def Transformer_TokenGradientOp : Transformer_Op<"token_gradient",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "backward of first_token and last_token";
  let description = [{
    `dx` is dy[b, :] in the first row of sequence b, with `last` in its last one, and 0
    in all others.

    Shapes: dy `[B, W]`, dx `[T, W]`. Error: another width.

    ```mlir
    %dx = transformer.token_gradient %dy, %seq {last} : tensor<?x768xf32> -> tensor<?x768xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$dy, Transformer_Sequences:$sequences, UnitAttr:$last);
  let results = (outs Transformer_Rows:$dx);
  let assemblyFormat = "$dy `,` $sequences attr-dict `:` type($dy) `->` type($dx)";
  let hasVerifier = 1;
}

def Transformer_RelativeScoresGradientOp : Transformer_Op<"relative_scores_gradient",
    [Pure, AllTypesMatch<["x", "dx"]>, AllTypesMatch<["table", "dtable"]>,
     DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "backward of relative_scores";
  let description = [{
    With D columns a head: `dx[t, h * D + d] = sum_p dy[t, h * P + p] table[p, h * D + d]`,
    `dtable[p, h * D + d] = sum_t dy[t, h * P + p] x[t, h * D + d]`.

    Shapes: x and dx `[T, num_heads * D]`, table and dtable `[P, num_heads * D]`, dy `[T, num_heads * P]`.

    ```mlir
    %dx, %dtable = transformer.relative_scores_gradient %x, %table, %dy {num_heads = 12 : i64}
        : tensor<?x768xf32>, tensor<512x768xf32>, tensor<?x6144xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Matrix:$table, Transformer_Rows:$dy, I64Attr:$num_heads);
  let results = (outs Transformer_Rows:$dx, Transformer_Matrix:$dtable);
  let assemblyFormat = "$x `,` $table `,` $dy attr-dict `:` type($x) `,` type($table) `,` type($dy)";
}

def Transformer_AttentionGradientOp : Transformer_Op<"attention_gradient",
    [Pure, AttrSizedOperandSegments, AttrSizedResultSegments, AllTypesMatch<["q", "result", "dresult", "dq"]>,
     AllTypesMatch<["k", "dk"]>, AllTypesMatch<["v", "dv"]>,
     DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "backward of attention";
  let description = [{
    With `P = exp(S - log_sum_exp)` of each head, S the scores of
    `transformer.attention`, `delta[i] = sum over columns of dresult[i] result[i]` and
    `dS = P * (dresult V^T - delta)`:
    `dv = P^T dresult`, `dq = scale dS K`, `dk = scale dS^T Q`; keys and values that
    heads share get the sum over these. `dposition_bias`, in the form of `position_bias`,
    is the sum of dS over all pairs of the same distance (times `-|d|` for slopes);
    `dquery_scores` and `dkey_scores` are the sums of `scale dS` over the pairs that read
    a score. Scores include `scale_factor`, a number that is no parameter, in `scale`.
    Neither they nor P are stored. With a `dropout_key`, D are the factors, 0 or
    1 / (1 - rate), of the probabilities: `dS = P * (D * dresult V^T - delta)` and
    `dv = (D * P)^T dresult`.

    With `bf16` or `f16` in `options` the D * P that dv is of and the dS that dq and dk are of are
    rounded to it, to nearest, ties to even; delta, P in dS and what
    the other gradients are sums of are not. A target may round less. q, k, v and dresult
    are rounded where they are made (`quantize_rows`).

    Shapes: as `attention`; gradients as what they are of.

    ```mlir
    %dq, %dk, %dv = transformer.attention_gradient %q, %k, %v, %y, %lse, %dy sequences(%seq, %seq) options<causal>
        {num_heads = 12 : i64, scale = 0.125 : f64} : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x12xf32>
    ```
    Source: Dao et al. 2022 (FlashAttention), algorithm 4; bf16: Dao 2023
    (FlashAttention-2), which torch.nn.functional.scaled_dot_product_attention is under
    autocast, but for the results of forward and backward, rounded there as well.
  }];
  let arguments = (ins Transformer_Rows:$q, Transformer_Rows:$k, Transformer_Rows:$v,
                       Transformer_Rows:$result, Transformer_Rows:$log_sum_exp, Transformer_Rows:$dresult,
                       Transformer_Sequences:$query_sequences, Transformer_Sequences:$key_sequences,
                       Optional<F32>:$scale_factor, Optional<Transformer_Weight>:$position_bias,
                       Optional<Transformer_Rows>:$query_scores, Optional<Transformer_Rows>:$key_scores,
                       Optional<I64>:$dropout_key,
                       I64Attr:$num_heads, OptionalAttr<I64Attr>:$num_kv_heads,
                       F64Attr:$scale, Transformer_AttentionOptions:$options,
                       OptionalAttr<DenseI32ArrayAttr>:$columns);
  let results = (outs Transformer_Rows:$dq, Transformer_Rows:$dk, Transformer_Rows:$dv,
                      Optional<Transformer_Weight>:$dposition_bias, Optional<Transformer_Rows>:$dquery_scores,
                      Optional<Transformer_Rows>:$dkey_scores);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $result `,` $log_sum_exp `,` $dresult `sequences` `(` $query_sequences `,` $key_sequences `)`
    (`scale_factor` `(` $scale_factor^ `)`)?
    (`position_bias` `(` $position_bias^ `:` type($position_bias) `->` type($dposition_bias) `)`)?
    (`query_scores` `(` $query_scores^ `:` type($query_scores) `->` type($dquery_scores) `)`)?
    (`key_scores` `(` $key_scores^ `:` type($key_scores) `->` type($dkey_scores) `)`)? (`columns` $columns^)?
    (`dropout_key` `(` $dropout_key^ `)`)?
    (`options` `` $options^)? attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($log_sum_exp)
  }];
  let extraClassDeclaration = [{
    int64_t kvHeads() { return getNumKvHeads().value_or(getNumHeads()); }
  }];
}

#endif // DIALECT_GRADIENTOPS_TD
