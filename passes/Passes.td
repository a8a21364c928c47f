//===- Passes.td - dialect to dialect -------------------------------------*- tablegen -*-===//
//
// The manual of the passes on the transformer dialect. Each example is the
// first case of test/passes/<pass>.mlir.

#ifndef PASSES_PASSES_TD
#define PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandCompositesPass : Pass<"transformer-expand-composites", "::mlir::ModuleOp"> {
  let summary = "expand blocks into core ops";
  let description = [{
    Replaces `multi_head_attention`, `feed_forward`, `encoder_layer`,
    `decoder_layer` and `sinusoidal_position` by `linear`, `attention`,
    `activation`, `layer_norm`, `sinusoidal_table`, `embedding` and arith's
    `addf` and `mulf`, as each op's description says. A residual is the left
    operand of its sum. All other ops are left alone.

    The ops' verifiers have checked all widths. No composite op is left.

    Example:
    ```mlir
    %y = transformer.feed_forward silu %x weights(%gate, %up, %down) out_in
        : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
    // becomes
    %g = transformer.linear %x, %gate out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %a = transformer.activation silu %g : tensor<?x16xf32>
    %u = transformer.linear %x, %up out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %m = arith.mulf %a, %u : tensor<?x16xf32>
    %y = transformer.linear %m, %down out_in : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def IsolateEntriesPass : Pass<"transformer-isolate-entries", "::mlir::ModuleOp"> {
  let summary = "entry points are called from outside only, layers from inside only";
  let description = [{
    In a module that has entry points, every other function becomes private. An
    entry point that is called gets a private copy, to which the calls go: an
    entry's arguments and results are the runtime's. Functions whose names are as
    the compiler makes them itself (with a dot, or beginning with `tr_` or
    `transformer`) get others; an entry point with such a name is an error.

    Left alone: modules without entry points.

    Example:
    ```mlir
    func.func @encode(%ids: tensor<?x?xi64> {...}) -> (tensor<?x8xf32> {...}) attributes {transformer.entry} { /* body */ }
    func.func @forward(%ids: tensor<?x?xi64> {...}) -> (tensor<?x8xf32> {...}) attributes {transformer.entry} {
      %0 = call @encode(%ids) : (tensor<?x?xi64>) -> tensor<?x8xf32>
      ...
    // becomes
    func.func private @encode_0(%ids: tensor<?x?xi64>) -> tensor<?x8xf32> { /* body */ }
    func.func @encode(...) ... { /* body */ }
    func.func @forward(%ids: tensor<?x?xi64> {...}) -> (tensor<?x8xf32> {...}) attributes {transformer.entry} {
      %0 = call @encode_0(%ids) : (tensor<?x?xi64>) -> tensor<?x8xf32>
      ...
    ```
  }];
}

def DeduplicateLayersPass : Pass<"transformer-deduplicate-layers", "::mlir::ModuleOp"> {
  let summary = "compile identical layers once";
  let description = [{
    Merges private functions of equal type, attributes and body into the first
    of them, and erases private functions that nothing names. Callees are merged
    before their callers, so that equal stacks of equal layers merge too.

    Left alone: public functions, entry points, declarations; functions that
    differ in an attribute (another `eps`, another `transformer.scope`).
    Locations do not count.

    Example:
    ```mlir
    func.func private @layer_0(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { /* body */ }
    func.func private @layer_1(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { /* the same body */ }
    %0 = call @layer_0(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %1 = call @layer_1(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    // becomes
    func.func private @layer_0(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { /* body */ }
    %0 = call @layer_0(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %1 = call @layer_0(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
}

def MergeQkvPass : Pass<"transformer-merge-qkv", "::mlir::func::FuncOp"> {
  let summary = "project queries, keys and values with one linear";
  let description = [{
    Linears that feed q, k and v of one `attention` (or k and v of `append_pages`
    and q of a `paged_attention` that reads them) and have the same input, layout
    and presence of a bias become one linear with concatenated weights, followed
    by `split`: all three in self-attention, k and v where they come from another
    memory. The order is q, k, v; the sum behind each element is
    unchanged, so results are the same bit for bit. Other uses of a projection
    use the split.

    Left alone: a single projection (q = k = v); projections in different
    blocks; projections of which one is used before the operands of another
    exist.

    Requires `transformer-expand-composites` (it looks at core ops only).

    Example:
    ```mlir
    %k = transformer.linear %m, %wk out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    %v = transformer.linear %m, %wv out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    %a = transformer.attention %q, %k, %v ...
    // becomes
    %w = tensor.concat dim(0) %wk, %wv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %kv = transformer.linear %m, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %k, %v = transformer.split %kv : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xf32>
    %a = transformer.attention %q, %k, %v ...
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FuseEmbeddingNormPass : Pass<"transformer-fuse-embedding-norm", "::mlir::func::FuncOp"> {
  let summary = "gather, add and normalise in one pass over the rows";
  let description = [{
    `layer_norm` of a sum of embeddings (or of one embedding) becomes
    `embedding_layer_norm`. The tables stand in the order in which the sum adds
    them, so results are the same bit for bit: `(a + b) + c` and `c + (a + b)`
    give a, b, c.

    Left alone: an embedding with a scale other than 1, sums that something else
    reads, `(a + b) + (c + d)`, which has no such order.

    Run it before `transformer-fuse-residual-norm`, which takes any sum.

    Example:
    ```mlir
    %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
    %p = transformer.embedding %positions, %places : tensor<?xi64>, tensor<16x8xf32> -> tensor<?x8xf32>
    %s = arith.addf %e, %p : tensor<?x8xf32>
    %y = transformer.layer_norm %s, %gamma, %beta norm<eps = 1.0e-12> : ...
    // becomes
    %y = transformer.embedding_layer_norm ids(%ids, %positions) tables(%words, %places)
        norm(%gamma, %beta) <eps = 1.0e-12> : ...
    ```
  }];
}

def FuseResidualNormPass : Pass<"transformer-fuse-residual-norm", "::mlir::func::FuncOp"> {
  let summary = "add a residual and normalise in one pass over the rows";
  let description = [{
    `layer_norm(arith.addf(a, b))` becomes `residual_layer_norm(a, b)`. Where
    something else reads the sum (pre-norm models), it becomes the second result.
    A sum that two norms read is fused with the first.

    Left alone: a sum that is read before gamma and beta exist.

    Example:
    ```mlir
    %s = arith.addf %x, %a : tensor<?x8xf32>
    %y = transformer.layer_norm %s, %gamma, %beta norm<eps = 1.0e-12> : ...
    // becomes
    %y = transformer.residual_layer_norm %x, %a, %gamma, %beta norm<eps = 1.0e-12>
        : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    ```
  }];
}

def HoistParametersPass : Pass<"transformer-hoist-parameters", "::mlir::ModuleOp"> {
  let summary = "move computations on parameters out of the layers";
  let description = [{
    What depends on parameters only (merged weights, panels, constant tables) is
    computed by the caller and becomes an argument of the layer, bottom-up over
    the calls, so that in the end it stands in the entry point, from where
    `transformer-outline-prepared` moves it to load time.

    A value is derived from parameters when it is the result of `get_parameter`
    or `sinusoidal_table`; a constant tensor of different numbers; an argument
    of a private function that gets such a value in every call; or a result of
    an op without memory effects whose operands, like what its regions capture,
    are derived or constants, among them at least one derived value.
    `tensor.empty` counts as a constant.

    The largest derived expressions whose results are static tensors of f32
    become new last arguments, in the order of their first use; their ops are
    cloned before each call; arguments that nothing reads any more are dropped.

    Left alone: a derived argument that is used as it is (a bias), a constant
    likewise; functions that are public, entry points, recursive, or named by
    anything but calls; parameters that only some calls pass; derived values of
    other types that an op reads which is not derived.

    In every other private function no derived op is left whose results are such
    tensors.

    Example:
    ```mlir
    func.func private @layer(%x: tensor<?x8xf32>, %wk: tensor<4x8xf32>, %wv: tensor<4x8xf32>) -> tensor<?x8xf32> {
      %w = tensor.concat dim(0) %wk, %wv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }
    // in the entry point, with %wk and %wv from transformer.get_parameter
    %y = call @layer(%x, %wk, %wv) : ...
    // becomes
    func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
      %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }
    %w = tensor.concat dim(0) %wk, %wv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %y = call @layer(%x, %w) : ...
    ```
  }];
}

def OutlinePreparedPass : Pass<"transformer-outline-prepared", "::mlir::ModuleOp"> {
  let summary = "compute once at load what depends on parameters only";
  let description = [{
    In entry points (functions that are public or carry `transformer.entry`),
    every largest expression over `get_parameter` results (derived as
    `transformer-hoist-parameters` says) becomes a `prepared` tensor: a private
    function `@prepare_K` of its parameters, called when weights are loaded, and
    a `get_parameter` of the result. Expressions with the same ops, attributes,
    types and wiring share the function; the same expression on the same
    parameters is one tensor. What is a prepared tensor itself is computed once,
    and is a source where another expression reads it. Sources stand in the order of their first use,
    each once. The tensor is named after its first source
    (`@"h.0.attn.weight.prepared"`), or after its op without sources.

    Left alone: parameters used as they are; expressions on tensors that are
    prepared already (so that running the pass again changes nothing); private
    functions: run `transformer-hoist-parameters` first.

    In entry points no derived op is left whose results are static tensors of f32, bf16, i8 or i32.

    Example:
    ```mlir
    %k = transformer.get_parameter @"k.weight" : tensor<4x8xf32>
    %v = transformer.get_parameter @"v.weight" : tensor<4x8xf32>
    %w = tensor.concat dim(0) %k, %v : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // becomes
    transformer.prepared @"k.weight.prepared" = @prepare_0(@"k.weight", @"v.weight") : tensor<8x8xf32>
    func.func private @prepare_0(%k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<8x8xf32> {
      %w = tensor.concat dim(0) %k, %v : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      return %w : tensor<8x8xf32>
    }
    // and in the entry point
    %w = transformer.get_parameter @"k.weight.prepared" : tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::transformer::TransformerDialect"];
}

def QuantizeWeightsPass : Pass<"transformer-quantize-weights", "::mlir::func::FuncOp"> {
  let summary = "linear layers multiply by weights of a narrow format";
  let description = [{
    The weight of every `linear` goes through `quantize_weight` in `format`, which
    says what the layer computes from then on, in the interpreter as in any target's
    code. How the numbers are stored is the target's: where nothing else reads the
    rounded weight, it keeps them in that format. Embeddings, norms, biases and
    position tables stay as they are; a table that is also the weight of a linear
    layer (a tied head) is rounded there alone.

    Left alone: linears whose weight is a `quantize_weight` already; composites (run
    `transformer-expand-composites` first); everything with the format `f32`.

    With `activations=int8` the rows of a linear whose weight is in `int8` or `int4`,
    by this pass or before, go through `quantize_rows`: one that several linears
    share once.

    Run it behind `transformer-merge-qkv`: scales belong to outputs, so merged
    weights are rounded as each of them would be.

    Example, with `format=int8`:
    ```mlir
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    // becomes
    %q = transformer.quantize_weight int8 %w out_in : tensor<4x8xf32>
    %y = transformer.linear %x, %q out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    ```
  }];
  let options = [Option<"format", "format", "std::string", "\"f32\"", "f32, bf16, int8 or int4">,
                 Option<"activations", "activations", "std::string", "\"f32\"", "f32 or, with int8 or int4, int8">];
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
}

def AddLossPass : Pass<"transformer-add-loss", "::mlir::ModuleOp"> {
  let summary = "the loss of a model's scores and given labels";
  let description = [{
    Adds `@loss` beside `@forward`: the same arguments and `labels` (`[B, S]` i64, of
    the objective `class` `[B]`; -100 where none counts), and as its one result the mean
    cross-entropy of the scores of the output `logits` with these labels, as
    `transformer.objective` of `@forward` says; that attribute's description has the
    labels and losses of other objectives, and the outputs that they are of. Without it, a
    model that generates, having `@step` and no `decoder_input_ids`, is trained for the
    next token, others for a class of each token. Masked tokens have no score, so their
    labels do not count.

    Error: no entry `@forward` with such outputs.

    Example:
    ```mlir
    func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> (tensor<?x?x9xf32> {transformer.name = "logits"}) {
      %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
      ...
      %y = transformer.unpack_tokens %rows, %seq : tensor<?x9xf32> -> tensor<?x?x9xf32>
      return %y : tensor<?x?x9xf32>
    }
    // and beside it
    func.func @loss(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64> {transformer.name = "labels"}) -> (tensor<f32> {transformer.name = "loss"}) {
      ...
      %l, %0 = transformer.pack_tokens(%labels) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
      %loss = transformer.cross_entropy %rows, %l : tensor<?x9xf32>, tensor<?xi64> -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    Source: the losses of transformers' heads for language models.
  }];
  let options = [Option<"evaluation", "evaluation", "std::string", "",
                        "the name of a second function like `@loss`, which stays an entry point of a training program">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::transformer::TransformerDialect"];
}

def AddLoraPass : Pass<"transformer-add-lora", "::mlir::ModuleOp"> {
  let summary = "low-rank adapters that are trained, beside frozen weights";
  let description = [{
    In a module with `transformer.lora`, each linear layer of an entry point or of what it
    calls whose weight W is a target's adds `alpha / rank * linear(linear(dropout(x), A), B)`
    to its result. A and B become parameters `MODULE.lora_A.weight` and
    `MODULE.lora_B.weight` and arguments of the layers that read them; layers of which one
    call has other targets than another are copied. All other parameters are frozen.
    Composites must have been expanded.

    Error: a target that names no linear layer.

    Example:
    ```mlir
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    // becomes
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %down = transformer.linear %x, %a out_in : tensor<?x8xf32>, tensor<2x8xf32> -> tensor<?x2xf32>
    %scaled = arith.mulf %b, %cst : tensor<16x2xf32>
    %up = transformer.linear %down, %scaled out_in : tensor<?x2xf32>, tensor<16x2xf32> -> tensor<?x16xf32>
    %sum = arith.addf %y, %up : tensor<?x16xf32>
    ```
    Source: Hu et al. 2021 (LoRA), PEFT.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::transformer::TransformerDialect"];
}

def MergeLoraPass : Pass<"transformer-merge-lora", "::mlir::ModuleOp"> {
  let summary = "low-rank adapters become part of the weights";
  let description = [{
    In a module with `transformer.lora`, `W + alpha / rank * B A` takes the place of each
    target's weight W where an entry point reads it: a computation on parameters, which
    is done once at load, so that a program with adapters is as fast as one without.

    Error: a target that names no linear layer.

    Example:
    ```mlir
    %w = transformer.get_parameter @q.weight : tensor<16x8xf32>
    // becomes
    %w = transformer.get_parameter @q.weight : tensor<16x8xf32>
    %a = transformer.get_parameter @q.lora_A.weight : tensor<2x8xf32>
    %b = transformer.get_parameter @q.lora_B.weight : tensor<16x2xf32>
    %scaled = arith.mulf %b, %cst : tensor<16x2xf32>
    %difference = transformer.linear %scaled, %a in_out : tensor<16x2xf32>, tensor<2x8xf32> -> tensor<16x8xf32>
    %sum = arith.addf %w, %difference : tensor<16x8xf32>
    ```
    Source: merge_and_unload of PEFT.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::transformer::TransformerDialect"];
}

def FreezeParametersPass : Pass<"transformer-freeze-parameters", "::mlir::ModuleOp"> {
  let summary = "parameters that are not trained";
  let description = [{
    Parameters whose name matches one of `patterns` (globs: `*`, `?`, `[0-5]`, `{a,b}`)
    become `frozen`: `transformer-differentiate` gives them no gradient, and computes
    nothing for one.

    Error: a pattern that is no glob, or matches no parameter.

    Example, with `patterns=embeddings.*`:
    ```mlir
    transformer.parameter @embeddings.words : tensor<9x8xf32>
    // becomes
    transformer.parameter frozen @embeddings.words : tensor<9x8xf32>
    ```
  }];
  let options = [ListOption<"patterns", "patterns", "std::string", "globs of parameters' names">];
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
}

def SeedDropoutPass : Pass<"transformer-seed-dropout", "::mlir::ModuleOp"> {
  let summary = "keys for what a training step drops";
  let description = [{
    Gives the function `function` an input `dropout_seed` (a scalar of i64) and every
    `dropout` and `attention` with a rate, in it and in the layers that it calls, a key:
    the seed plus the number of the site. A layer takes the key of its first site as its
    last argument, so equal layers stay one function; layers that others call, too, are
    copied. Nothing changes where no rate is above 0. Composites must have been expanded.

    Example:
    ```mlir
    func.func private @layer(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %y = transformer.dropout %x rate 1.000000e-01 : tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }
    // becomes
    func.func private @layer_dropout(%x: tensor<?x8xf32>, %key: i64) -> tensor<?x8xf32> {
      %y = transformer.dropout %x key(%key) rate 1.000000e-01 : tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }
    ```
  }];
  let options = [Option<"function", "function", "std::string", "\"loss\"", "the function that gets a seed">,
                 Option<"rate", "rate", "double", "-1", "in place of the definition's rates above 0; negative: these">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::transformer::TransformerDialect"];
}

def DifferentiatePass : Pass<"transformer-differentiate", "::mlir::ModuleOp"> {
  let summary = "gradients of a loss with regard to the parameters";
  let description = [{
    Adds `@LOSS_and_gradients` beside `@LOSS`, a function of one result, the loss
    (`tensor<f32>`): the same arguments, and as results the loss and, in the order in
    which they are read first, the gradient of each parameter that it depends on,
    with the name `PARAMETER.grad`. A parameter that is read twice (a tied head) has
    the sum.

    Ops build their backward by `DifferentiateOpInterface`. A function that is called
    has one backward, `@NAME.backward`, however often it is called: it takes the
    arguments and the gradients of the results and gives the gradients of the
    arguments that have any. With `recompute=layer` it computes the function's values
    again, so that only a call's arguments have to be kept; with `recompute=none` it takes
    those that it reads as further arguments, further results of `@NAME.saving`,
    which is called in the place of the function.

    Error: an op without a backward that the loss depends on; composites are such
    (run `transformer-expand-composites` first, and fusion behind this pass).

    Example:
    ```mlir
    func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> tensor<f32> {
      %w = transformer.get_parameter @w : tensor<4x8xf32>
      %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
      %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
      return %loss : tensor<f32>
    }
    // and beside it, what @loss computes and
    %one = arith.constant dense<1.0> : tensor<f32>
    %dy = transformer.cross_entropy_gradient %y, %labels, %one : tensor<?x4xf32>, tensor<?xi64>, tensor<f32>
    %dw = transformer.linear_weight_gradient %x, %dy out_in : tensor<?x8xf32>, tensor<?x4xf32> -> tensor<4x8xf32>
    return %loss, %dw : tensor<f32>, tensor<4x8xf32>
    ```
  }];
  let options = [Option<"loss", "loss", "std::string", "\"loss\"", "the function of the loss">,
                 Option<"recompute", "recompute", "std::string", "\"none\"", "layer or none">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::transformer::TransformerDialect"];
}

def AddOptimizerPass : Pass<"transformer-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "loss and gradients to a training step";
  let description = [{
    Makes `@train_step`, an entry point, of `@loss_and_gradients`. Parameters that have a
    gradient become state under their names, and so do what the optimizer keeps of
    each. Behind the inputs there are the scalars `step` (from 1), `learning_rate`,
    those of the optimizer, `weight_decay`, `vector_weight_decay` (of parameters of one
    dimension: biases and norms) and `max_grad_norm`; results are `loss`, `grad_norm`
    (before clipping) and the state.

    | optimizer | scalars | state of NAME |
    |---|---|---|
    | `adamw` | `beta1`, `beta2`, `epsilon` | `NAME.exp_avg`, `NAME.exp_avg_sq` |
    | `sgd` | `momentum` | `NAME.momentum_buffer` |
    | `adafactor` | `beta2_decay`, `eps1`, `eps2`, `clip_threshold` | a matrix' `NAME.row_var`, `NAME.col_var`; a vector's `NAME.variance` |

    Parameters of one shape share a function for their update and one for their
    squares. An entry point `evaluation` takes the same parameters as state, which it
    gives back as it is. Other entry points become private: they would read what is in
    the weights' file, not what has been trained.

    Error: no such function; a gradient of a tensor that is no parameter; no such
    optimizer.
  }];
  let options = [Option<"function", "function", "std::string", "\"loss_and_gradients\"",
                        "the function of loss and gradients">,
                 Option<"evaluation", "evaluation", "std::string", "\"evaluate\"",
                        "an entry point that reads what is trained">,
                 Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, sgd or adafactor">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::transformer::TransformerDialect"];
}

#endif // PASSES_PASSES_TD
