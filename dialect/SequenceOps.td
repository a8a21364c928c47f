//===- SequenceOps.td - where tokens enter and leave --------------------*- tablegen -*-===//

#ifndef DIALECT_SEQUENCEOPS_TD
#define DIALECT_SEQUENCEOPS_TD

include "dialect/CostInterface.td"
include "dialect/DifferentiateInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_PackTokensOp : Transformer_Op<"pack_tokens",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "drops padding where tokens enter";
  let description = [{
    Keeps the elements of every `[batch, sequence]` input where `mask` is not
    zero, row by row, as `[T]` with `T` the number of non-zero mask elements.
    A row of zeros gives an empty sequence. Masks with holes or left padding
    keep their tokens' order.

    Shapes: inputs and mask `[B, S]`, results `[T]` each, in order.
    Error: as many inputs as packed results are needed.

    ```mlir
    %ids, %seq = transformer.pack_tokens(%input_ids) mask(%attention_mask)
        : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
    ```
    Source: unpadded attention (FlashAttention's varlen interface, `cu_seqlens`).
  }];
  let arguments = (ins Variadic<Transformer_IdGrid>:$inputs, Transformer_IdGrid:$mask);
  let results = (outs Variadic<Transformer_Ids>:$packed, Transformer_Sequences:$sequences);
  let assemblyFormat = [{
    `(` $inputs `)` `mask` `(` $mask `)` attr-dict `:` (`(` type($inputs)^ `)` `,`)? type($mask)
    (`->` type($packed)^)?
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // drops inputs whose packed result nobody reads
}

def Transformer_LabelledTokensOp : Transformer_Op<"labelled_tokens",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "the tokens that a loss is about";
  let description = [{
    Of the tokens that `pack_tokens` with this `mask` keeps those N whose label is neither
    `ignore_index` nor `padding_index`: their labels, and N spans of the packed tokens, each of
    which begins with one of them and ends where the next begins. `first_token` of the spans
    gives the rows that `cross_entropy` counts. Tokens in front of the first are in no span.
    With `shifted`, a token's label is its successor's, as `shift_labels` says.

    Shapes: labels and mask `[B, S]`, sequences what `pack_tokens` made of the mask; result `[N]`.

    ```mlir
    %counted, %spans = transformer.labelled_tokens %labels, %seq mask(%mask)
        : tensor<?x?xi64>, tensor<?x?xi64> -> tensor<?xi64>
    ```
  }];
  let arguments = (ins Transformer_IdGrid:$labels, Transformer_Sequences:$sequences, Transformer_IdGrid:$mask,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$padding_index, UnitAttr:$shifted);
  let results = (outs Transformer_Ids:$counted, Transformer_Sequences:$spans);
  let assemblyFormat = [{
    $labels `,` $sequences `mask` `(` $mask `)` attr-dict `:` type($labels) `,` type($mask) `->` type($counted)
  }];
}

def Transformer_UniformSequencesOp : Transformer_Op<"uniform_sequences",
    [Pure, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "sequences of one length, without padding";
  let description = [{
    As many sequences as x has items, `length` tokens each: what `pack_tokens`
    makes of a mask `[B, length]` of ones. For inputs whose length the model
    fixes and that have no mask.

    Shapes: x `[B, ...]`. Error: length < 1.

    ```mlir
    %seq = transformer.uniform_sequences %features length 1500 : tensor<?x80x3000xf32>
    ```
    Source: Whisper (Radford et al. 2022), whose audio always has 30 seconds.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$length);
  let results = (outs Transformer_Sequences:$sequences);
  let assemblyFormat = "$x `length` $length attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Transformer_TokenColumnsOp : Transformer_Op<"token_columns", [Pure, Transformer_CostOpInterface]> {
  let summary = "the column that every token came from";
  let description = [{
    `result[t] = s` for the row `t` that came from `(b, s)` of `[batch, sequence]`.

    Shape: result `[T]`.

    ```mlir
    %columns = transformer.token_columns %seq : tensor<?xi64>
    ```
  }];
  let arguments = (ins Transformer_Sequences:$sequences);
  let results = (outs Transformer_Ids:$result);
  let assemblyFormat = "$sequences attr-dict `:` type($result)";
}

def Transformer_UnpackTokensOp : Transformer_Op<"unpack_tokens", [Pure, Transformer_CostOpInterface]> {
  let summary = "puts padding back, as zeros, where outputs leave";
  let description = [{
    `result[b, s, :] = x[t, :]` for the row `t` that came from `(b, s)`, zero
    where there is none. With `column = c` the result is `[B, S]` and holds only
    column `c` (question answering's start and end logits).

    Shapes: x `[T, W]`; result `[B, S, W]`, or `[B, S]` with `column`.
    Error: a result of another rank or width, a column outside `[0, W)`.

    ```mlir
    %y = transformer.unpack_tokens %x, %seq : tensor<?x768xf32> -> tensor<?x?x768xf32>
    %s = transformer.unpack_tokens %x, %seq {column = 0 : i64} : tensor<?x2xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences, OptionalAttr<I64Attr>:$column);
  let results = (outs TensorRankOf<[F32], [2, 3]>:$result);
  let assemblyFormat = "$x `,` $sequences attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_FirstTokenOp : Transformer_Op<"first_token",
    [Pure, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "the first token of every sequence";
  let description = [{
    `result[b, :] = x[cu_seqlens[b], :]`, zeros for an empty sequence: what
    poolers and classification heads read. With left padding it is the first
    kept token, not column 0.

    Shapes: x `[T, W]`, result `[B, W]`. Error: another width.

    ```mlir
    %c = transformer.first_token %x, %seq : tensor<?x768xf32> -> tensor<?x768xf32>
    ```
    Source: BERT (Devlin et al. 2019), the [CLS] token.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $sequences attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_LastTokenOp : Transformer_Op<"last_token",
    [Pure, DeclareOpInterfaceMethods<Transformer_DifferentiateOpInterface>, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getRowOrigin"]>]> {
  let summary = "the last token of every sequence";
  let description = [{
    `result[b, :] = x[cu_seqlens[b + 1] - 1, :]`, zeros for an empty sequence:
    the row whose logits say what comes next.

    Shapes: x `[T, W]`, result `[B, W]`. Error: another width.

    ```mlir
    %c = transformer.last_token %x, %seq : tensor<?x768xf32> -> tensor<?x768xf32>
    ```
    Source: Radford et al. 2018 (GPT).
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $sequences attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Transformer_ClearEmptyOp : Transformer_Op<"clear_empty",
    [Pure, Transformer_CostOpInterface, AllTypesMatch<["x", "result"]>]> {
  let summary = "zeros for sequences without tokens";
  let description = [{
    `result[b, :] = x[b, :]`, zeros where sequence b is empty: what is left of
    `first_token` or `last_token` where the row was chosen earlier and layers
    have made something of the zeros (`transformer-choose-tokens-early`).

    Shapes: x `[B, W]`, a row for each of B sequences, result `[B, W]`.
    Error: another width.

    ```mlir
    %y = transformer.clear_empty %x, %seq : tensor<?x768xf32>
    ```
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = "$x `,` $sequences attr-dict `:` type($x)";
}

#endif // DIALECT_SEQUENCEOPS_TD
