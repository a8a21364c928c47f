//===- QuantizeOps.td - weights and rows in narrow formats --------------*- tablegen -*-===//

#ifndef DIALECT_QUANTIZEOPS_TD
#define DIALECT_QUANTIZEOPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "dialect/WeightFormat.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_QuantizeWeightOp : Transformer_Op<"quantize_weight", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["weight", "result"]>]> {
  let summary = "a weight rounded to what a narrow format holds";
  let description = [{
    The values, in f32, that a linear layer multiplies by when its weight is kept
    in `format`. For output n and input k, in float32 arithmetic:

    | `format` | scale | value |
    |---|---|---|
    | `bf16`, `f16` | | w to bfloat16, or to float16, to nearest, ties to even |
    | `tf32` | | w to 11 digits, to nearest, ties away from zero |
    | `int8` | `s = max over k of abs(w(n, k)) / 127` | `s q`, `q = round(w / s)` |
    | `int4` | for each 32 inputs (the last group may be shorter): `s = m / -8` to bfloat16, m the w of the largest absolute value (the positive one of two) | `s q`, `q = min(max(round(w / s), -8), 7)` |

    `round` is to nearest, ties to even; where s is 0, or too small for the
    quotient to be a number of the range, q is 0 or the end of the range. A scale of
    a NaN or an infinity is NaN, and so is all that has it; a NaN of bf16, f16 or tf32
    stays one. Of f16, what is nearer to 65536 than to 65504, or larger, is infinite.

    Shapes: weight and result `[N, K]` (`out_in`) or `[K, N]` (`in_out`).

    ```mlir
    %q = transformer.quantize_weight int8 %w out_in : tensor<3072x768xf32>
    ```
    Source: symmetric quantisation per channel (Jacob et al. 2018, section 2);
    `int4` is ggml's q4_0 with a scale of another type.
  }];
  let arguments = (ins Transformer_Matrix:$weight, Transformer_WeightFormatAttr:$format,
                       Transformer_WeightLayoutAttr:$layout);
  let results = (outs Transformer_Matrix:$result);
  let assemblyFormat = "$format $weight $layout attr-dict `:` type($weight)";
}

def Transformer_QuantizeRowsOp : Transformer_Op<"quantize_rows", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "rows rounded to what a narrow format holds";
  let description = [{
    The values, in f32, that a product multiplies when it reads its rows in
    `format`, in float32 arithmetic:

    | `format` | of | value |
    |---|---|---|
    | `bf16`, `f16` | each number | x to bfloat16, or to float16, to nearest, ties to even |
    | `tf32` | each number | x to 11 digits, to nearest, ties away from zero |
    | `int8` | each row and 32 features of it (the last group may be shorter), `m = max abs(x)` over the group | `s q`, `s = m / 127`, `q = round(x (127 / m))` |

    `round` is to nearest, ties to even; where `127 / m` is not finite, m being 0 or
    nearly, q is 0. A group of int8 with a NaN or an infinity is NaN; of the other
    formats NaN and infinities stay, and a target may take numbers below 2^-126 for zeros. Of
    f16, what is nearer to 65536 than to 65504, or larger, is infinite.

    Shapes: x and result `[T, K]`. Error: int4, of which there are no rows.

    ```mlir
    %q = transformer.quantize_rows int8 %x : tensor<?x768xf32>
    ```
    Source: bf16 as in mixed precision (Kalamkar et al. 2019), f16 likewise
    (Micikevicius et al. 2018), tf32 as NVIDIA's A100 multiplies float32 (PTX, `cvt.rna.tf32`); int8 is ggml's q8_0
    with a float32 scale, dynamic quantisation of activations (Dettmers et al. 2022,
    section 2.1), per group instead of per row.
  }];
  let arguments = (ins Transformer_Rows:$x, Transformer_WeightFormatAttr:$format);
  let results = (outs Transformer_Rows:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$format $x attr-dict `:` type($x)";
}

#endif // DIALECT_QUANTIZEOPS_TD
