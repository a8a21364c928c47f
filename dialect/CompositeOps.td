//===- CompositeOps.td - blocks, nice to write by hand --------------------*- tablegen -*-===//

#ifndef DIALECT_COMPOSITEOPS_TD
#define DIALECT_COMPOSITEOPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_MultiHeadAttentionOp : Transformer_Op<"multi_head_attention",
    [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "projections, attention, output projection";
  let description = [{
    `q = linear(x)`, `k, v = linear(memory or x)`, `attention`, `linear`.
    `weights` are q, k, v and output projection; `biases` are as many, or none.
    `scale` defaults to 1/sqrt(head_dim), `num_kv_heads` to num_heads;
    `scale_factor`, `position_bias` and `options` are `attention`'s.

    Shapes: x and result `[T, W]`, memory `[Tm, Wm]`; projections
    `[W or heads*D, ...]` in `layout`, those of k and v to num_kv_heads heads.
    Error: not four weights, neither four nor no biases, `memory` without
    `memory_sequences`, shapes that the expansion refuses.

    ```mlir
    %y = transformer.multi_head_attention %x sequences(%seq)
        weights(%wq, %wk, %wv, %wo) biases(%bq, %bk, %bv, %bo) out_in {num_heads = 12 : i64}
        : (tensor<?x768xf32>, ...) -> tensor<?x768xf32>
    ```
    Source: Vaswani et al. 2017, section 3.2.2; torch.nn.MultiheadAttention.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_Sequences:$sequences,
                       Optional<Transformer_Rows>:$memory, Optional<Transformer_Sequences>:$memory_sequences,
                       Variadic<Transformer_Matrix>:$weights, Variadic<Transformer_Vector>:$biases,
                       Optional<F32>:$scale_factor, Optional<Transformer_Weight>:$position_bias,
                       Transformer_WeightLayoutAttr:$layout, I64Attr:$num_heads,
                       OptionalAttr<I64Attr>:$num_kv_heads, OptionalAttr<F64Attr>:$scale,
                       Transformer_AttentionOptions:$options);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $x `sequences` `(` $sequences `)` (`memory` `(` $memory^ `,` $memory_sequences `)`)?
    `weights` `(` $weights `)` (`biases` `(` $biases^ `)`)? (`scale_factor` `(` $scale_factor^ `)`)?
    (`position_bias` `(` $position_bias^ `)`)? $layout (`options` `` $options^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Transformer_FeedForwardOp : Transformer_Op<"feed_forward",
    [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "two linear layers around an activation, plain or gated";
  let description = [{
    Plain, weights (up, down): `down(activation(up(x)))`. Gated, weights
    (gate, up, down): `down(activation(gate(x)) * up(x))`. Biases: one a weight,
    or none. `dropout` is the rate at which a training step drops numbers of what
    `down` takes.

    Shapes: x and result `[T, W]`, up `[F, W]`, down `[W, F]` in `out_in`.
    Error: not two or three weights, another number of biases, shapes that do
    not chain.

    ```mlir
    %y = transformer.feed_forward gelu %x weights(%w1, %w2) biases(%b1, %b2) out_in : (...) -> tensor<?x768xf32>
    ```
    Source: Vaswani et al. 2017, section 3.3; gated: Shazeer 2020.
  }];
  let arguments = (ins Transformer_ActivationKindAttr:$activation, Transformer_Rows:$x,
                       Variadic<Transformer_Matrix>:$weights, Variadic<Transformer_Vector>:$biases,
                       Transformer_WeightLayoutAttr:$layout, DefaultValuedAttr<F64Attr, "0.0">:$dropout);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $activation $x `weights` `(` $weights `)` (`biases` `(` $biases^ `)`)? $layout attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Transformer_EncoderLayerOp : Transformer_Op<"encoder_layer",
    [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "self-attention and feed-forward with residuals and norms";
  let description = [{
    Post-norm: `h = norm1(x + attention(x)); y = norm2(h + ffn(h))`.
    With `norm_first`: `h = x + attention(norm1(x)); y = h + ffn(norm2(h))`.
    `attention` is (wq, bq, wk, bk, wv, bv, wo, bo), `ffn` (w1, b1, w2, b2),
    all weights `[out, in]`; `norms` (gamma1, beta1, gamma2, beta2). With
    `options<causal>` it is a decoder-only layer.

    Shapes: x and result `[T, W]`. Error: another number of tensors in a group,
    shapes that the expansion refuses.

    ```mlir
    %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %bq, %wk, %bk, %wv, %bv, %wo, %bo)
        ffn(%w1, %b1, %w2, %b2) norms(%g1, %c1, %g2, %c2)
        norm<eps = 1.0e-5> {num_heads = 8 : i64} : (...) -> tensor<?x512xf32>
    ```
    Source: Vaswani et al. 2017, section 3.1; torch.nn.TransformerEncoderLayer.
  }];
  let arguments = (ins Transformer_ActivationKindAttr:$activation, Transformer_Rows:$x,
                       Transformer_Sequences:$sequences, Variadic<Transformer_Weight>:$attention,
                       Variadic<Transformer_Weight>:$ffn, Variadic<Transformer_Vector>:$norms,
                       Transformer_NormAttr:$norm, Transformer_AttentionOptions:$options,
                       I64Attr:$num_heads, UnitAttr:$norm_first);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $activation $x `sequences` `(` $sequences `)` `attention` `(` $attention `)` `ffn` `(` $ffn `)`
    `norms` `(` $norms `)` `norm` `` $norm (`options` `` $options^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Transformer_DecoderLayerOp : Transformer_Op<"decoder_layer",
    [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Transformer_CostOpInterface, ["getCosts"]>]> {
  let summary = "causal self-attention, cross-attention and feed-forward";
  let description = [{
    Post-norm: `h = norm1(x + self(x)); g = norm2(h + cross(h, memory));
    y = norm3(g + ffn(g))`; with `norm_first` each norm stands before its
    sublayer. Groups as in `encoder_layer`; `norms` has six tensors.

    Shapes: x and result `[T, W]`, memory `[Tm, W]`. Error: as `encoder_layer`.

    ```mlir
    %y = transformer.decoder_layer relu %x sequences(%seq) memory(%m, %mseq) self_attention(...)
        cross_attention(...) ffn(...) norms(...) norm<eps = 1.0e-5> {num_heads = 8 : i64} : (...) -> tensor<?x512xf32>
    ```
    Source: Vaswani et al. 2017, section 3.1; torch.nn.TransformerDecoderLayer.
  }];
  let arguments = (ins Transformer_ActivationKindAttr:$activation, Transformer_Rows:$x,
                       Transformer_Sequences:$sequences, Transformer_Rows:$memory,
                       Transformer_Sequences:$memory_sequences,
                       Variadic<Transformer_Weight>:$self_attention,
                       Variadic<Transformer_Weight>:$cross_attention,
                       Variadic<Transformer_Weight>:$ffn, Variadic<Transformer_Vector>:$norms,
                       Transformer_NormAttr:$norm, I64Attr:$num_heads, UnitAttr:$norm_first);
  let results = (outs Transformer_Rows:$result);
  let assemblyFormat = [{
    $activation $x `sequences` `(` $sequences `)` `memory` `(` $memory `,` $memory_sequences `)`
    `self_attention` `(` $self_attention `)` `cross_attention` `(` $cross_attention `)`
    `ffn` `(` $ffn `)` `norms` `(` $norms `)` `norm` `` $norm attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DIALECT_COMPOSITEOPS_TD
