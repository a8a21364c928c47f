//===- OptimizerOps.td - what a training step does with gradients -------*- tablegen -*-===//

#ifndef DIALECT_OPTIMIZEROPS_TD
#define DIALECT_OPTIMIZEROPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Transformer_ScalarOf<Type element, string name, string type>
    : Type<TensorRankOf<[element], [0]>.predicate, "scalar tensor of " # name, "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder." # type # "())">;
def Transformer_F32Scalar : Transformer_ScalarOf<F32, "f32", "getF32Type">;
def Transformer_F64Scalar : Transformer_ScalarOf<F64, "f64", "getF64Type">;
def Transformer_I64Scalar : Transformer_ScalarOf<I64, "i64", "getI64Type">;
def Transformer_Trained : Type<StaticShapeTensorOf<[F32]>.predicate, "static tensor of f32", "::mlir::RankedTensorType">;

def Transformer_Updated : Type<TensorOf<[F32]>.predicate, "tensor of f32", "::mlir::RankedTensorType">;

def Transformer_SumSquaresOp : Transformer_Op<"sum_squares", [Pure, Transformer_CostOpInterface]> {
  let summary = "the sum of squares of all elements";
  let description = [{
    Shapes: any x, result a scalar.

    ```mlir
    %s = transformer.sum_squares %dw : tensor<768x768xf32>
    ```
  }];
  let arguments = (ins Transformer_Trained:$x);
  let results = (outs Transformer_F32Scalar:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x), [{
    build($_builder, $_state, ::mlir::RankedTensorType::get({}, $_builder.getF32Type()), x);
  }]>];
}

def Transformer_ClipGradNormOp : Transformer_Op<"clip_grad_norm", [Pure, Transformer_CostOpInterface]> {
  let summary = "the norm of gradients, and what they are multiplied by so that it is at most a given one";
  let description = [{
    `norm = sqrt(squares)`, squares being the sum of those of all gradients;
    `scale = min(1, max_norm / (norm + 1e-6))`, 1 where max_norm is not positive.

    Shapes: scalars.

    ```mlir
    %norm, %scale = transformer.clip_grad_norm %squares to %max_norm
    ```
    Source: torch.nn.utils.clip_grad_norm_.
  }];
  let arguments = (ins Transformer_F32Scalar:$squares, Transformer_F64Scalar:$max_norm);
  let results = (outs Transformer_F32Scalar:$norm, Transformer_F32Scalar:$scale);
  let assemblyFormat = "$squares `to` $max_norm attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$squares, "::mlir::Value":$max_norm), [{
    build($_builder, $_state, squares.getType(), squares.getType(), squares, max_norm);
  }]>];
}

def Transformer_AdamWUpdateOp : Transformer_Op<"adamw_update", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["parameter", "mean", "variance", "gradient", "new_parameter", "new_mean", "new_variance"]>]> {
  let summary = "one step of AdamW";
  let description = [{
    With `g = scale gradient` and t = step, counted from 1, elementwise:
    `new_mean = beta1 mean + (1 - beta1) g`,
    `new_variance = beta2 variance + (1 - beta2) g^2`,
    `new_parameter = (1 - lr decay) parameter
      - lr / (1 - beta1^t) new_mean / (sqrt(new_variance / (1 - beta2^t)) + epsilon)`.
    Coefficients are computed in double precision. With `skippable`, where the scale is NaN
    all stays as it was. With `rows(a, b)` only rows a to b - 1 are updated.

    Shapes: any of one or two dimensions, all the same; the others are scalars.
    Error: other than two rows.

    ```mlir
    %p1, %m1, %v1 = transformer.adamw_update %p, %m, %v, %g, %scale step %t rate %lr betas(%b1, %b2) epsilon %e decay %d
        : tensor<768x768xf32>
    ```
    Source: Loshchilov and Hutter 2019 (Decoupled Weight Decay Regularization), torch.optim.AdamW.
  }];
  let arguments = (ins Transformer_Updated:$parameter, Transformer_Updated:$mean, Transformer_Updated:$variance,
                       Transformer_Updated:$gradient, Transformer_F32Scalar:$scale, Transformer_I64Scalar:$step,
                       Transformer_F64Scalar:$learning_rate, Transformer_F64Scalar:$beta1, Transformer_F64Scalar:$beta2,
                       Transformer_F64Scalar:$epsilon, Transformer_F64Scalar:$weight_decay, UnitAttr:$skippable,
                       Variadic<Index>:$rows);
  let results = (outs Transformer_Updated:$new_parameter, Transformer_Updated:$new_mean, Transformer_Updated:$new_variance);
  let assemblyFormat = [{
    $parameter `,` $mean `,` $variance `,` $gradient `,` $scale `step` $step `rate` $learning_rate
    `betas` `(` $beta1 `,` $beta2 `)` `epsilon` $epsilon `decay` $weight_decay
    (`rows` `(` $rows^ `)`)? attr-dict `:` type($parameter)
  }];
  let hasVerifier = 1;
}

def Transformer_SgdUpdateOp : Transformer_Op<"sgd_update", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["parameter", "momentum_buffer", "gradient", "new_parameter", "new_momentum_buffer"]>]> {
  let summary = "one step of SGD with momentum";
  let description = [{
    With `g = scale gradient + decay parameter`, elementwise:
    `new_momentum_buffer = momentum momentum_buffer + g`,
    `new_parameter = parameter - lr new_momentum_buffer`. With `skippable`, where the scale is
    NaN all stays as it was. With `rows(a, b)` only rows a to b - 1 are updated.

    Shapes: any of one or two dimensions, all the same; the others are scalars.
    Error: other than two rows.

    ```mlir
    %p1, %b1 = transformer.sgd_update %p, %b, %g, %scale rate %lr momentum %m decay %d : tensor<768x768xf32>
    ```
    Source: torch.optim.SGD with dampening 0, whose first buffer is g, as it is of a buffer of zeros.
  }];
  let arguments = (ins Transformer_Updated:$parameter, Transformer_Updated:$momentum_buffer,
                       Transformer_Updated:$gradient, Transformer_F32Scalar:$scale,
                       Transformer_F64Scalar:$learning_rate, Transformer_F64Scalar:$momentum,
                       Transformer_F64Scalar:$weight_decay, UnitAttr:$skippable, Variadic<Index>:$rows);
  let results = (outs Transformer_Updated:$new_parameter, Transformer_Updated:$new_momentum_buffer);
  let assemblyFormat = [{
    $parameter `,` $momentum_buffer `,` $gradient `,` $scale `rate` $learning_rate `momentum` $momentum
    `decay` $weight_decay (`rows` `(` $rows^ `)`)? attr-dict `:` type($parameter)
  }];
  let hasVerifier = 1;
}

def Transformer_AdafactorUpdateOp : Transformer_Op<"adafactor_update", [Pure, Transformer_CostOpInterface,
    AllTypesMatch<["parameter", "gradient", "new_parameter"]>,
    RangedTypesMatchWith<"new moments are of the moments' types", "moments", "new_moments", "$_self">]> {
  let summary = "one step of Adafactor";
  let description = [{
    With `g = scale gradient`, t = step, counted from 1, `share = t^beta2_decay` and
    `lerp(a, b) = (1 - share) a + share b`, a matrix has two moments, for its rows and
    its columns, a vector has one:
    `new_row_variance_i = lerp(row_variance_i, mean_j g_ij^2)`,
    `new_column_variance_j = lerp(column_variance_j, mean_i g_ij^2)`,
    `v_ij = new_row_variance_i new_column_variance_j / max(mean_i new_row_variance_i, eps1)`;
    `new_variance_i = v_i = lerp(variance_i, g_i^2)`. Then, rms being the root of the mean of squares,
    `u = g / sqrt(max(v, eps1^2))`,
    `size = min(lr, 1 / sqrt(t)) max(eps2, rms(parameter))`,
    `new_parameter = (1 - lr decay) parameter - size / max(1, rms(u) / clip_threshold) u`.
    Coefficients are computed in double precision.

    Shapes: parameter and gradient `[N, W]`, moments `[N, 1]` and `[1, W]`; or all of
    them `[W]`. Dimensions in front of N count matrices, each with moments of its own: of a
    convolution's `[O, I, H, W]` they are `[O, I, H, 1]` and `[O, I, 1, W]`. The others are scalars.

    Error: other moments than these.

    ```mlir
    %p1, %moments:2 = transformer.adafactor_update %p moments(%r, %c : tensor<768x1xf32>, tensor<1x3072xf32>) %g, %scale
        step %t rate %lr beta2_decay %b eps(%e1, %e2) clip_threshold %c decay %d : tensor<768x3072xf32>
    ```
    Source: Shazeer and Stern 2018 (Adafactor: Adaptive Learning Rates with Sublinear Memory
    Cost), torch.optim.Adafactor.
  }];
  let arguments = (ins Transformer_Trained:$parameter, Variadic<Transformer_Trained>:$moments,
                       Transformer_Trained:$gradient, Transformer_F32Scalar:$scale, Transformer_I64Scalar:$step,
                       Transformer_F64Scalar:$learning_rate, Transformer_F64Scalar:$beta2_decay,
                       Transformer_F64Scalar:$eps1, Transformer_F64Scalar:$eps2,
                       Transformer_F64Scalar:$clip_threshold, Transformer_F64Scalar:$weight_decay);
  let results = (outs Transformer_Trained:$new_parameter, Variadic<Transformer_Trained>:$new_moments);
  let assemblyFormat = [{
    $parameter `moments` `(` $moments `:` type($moments) `)` $gradient `,` $scale `step` $step `rate` $learning_rate
    `beta2_decay` $beta2_decay `eps` `(` $eps1 `,` $eps2 `)` `clip_threshold` $clip_threshold
    `decay` $weight_decay attr-dict `:` type($parameter)
  }];
  let extraClassDeclaration = [{
    /// What it keeps of a parameter: of rows and columns, or of each element of a vector.
    static ::llvm::SmallVector<::mlir::RankedTensorType> momentTypes(::mlir::RankedTensorType parameter);
  }];
  let hasVerifier = 1;
}

#endif // DIALECT_OPTIMIZEROPS_TD
