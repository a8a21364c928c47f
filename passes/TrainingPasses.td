//===- TrainingPasses.td - from a model to its training step --------------*- tablegen -*-===//
//
// Included by Passes.td.

#ifndef PASSES_TRAININGPASSES_TD
#define PASSES_TRAININGPASSES_TD

include "mlir/Pass/PassBase.td"

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

def DropUnlabelledTokensPass : Pass<"transformer-drop-unlabelled-tokens", "::mlir::ModuleOp"> {
  let summary = "no scores of tokens whose label does not count";
  let description = [{
    Where a cross-entropy is of rows that a row-wise op has made, such as the head of a language
    model, and of labels that are an input, the rows whose label is -100 or padding are left out
    in front of the row-wise ops whose results nobody else reads: a head, its norm and its
    transformation see the tokens that a loss is about, in a masked language model one in seven.
    The mean is over the same terms as before.

    Left alone: labels or a mask that are computed, since sizes of buffers follow from how many
    count; scores that something else reads; other losses.

    Example:
    ```mlir
    %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
    %l, %0 = transformer.pack_tokens(%labels) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
    %loss = transformer.cross_entropy %y, %l : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
    // becomes
    %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
    %l, %spans = transformer.labelled_tokens %labels, %seq mask(%mask) : tensor<?x?xi64>, tensor<?x?xi64> -> tensor<?xi64>
    %rows = transformer.first_token %x, %spans : tensor<?x8xf32> -> tensor<?x8xf32>
    %y = transformer.linear %rows, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
    %loss = transformer.cross_entropy %y, %l : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
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

    Error: a target that names no linear layer, or whose weight something else reads, too.

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

    Error: a target that names no linear layer, or whose weight something else reads, too.

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

    Without `rate`, a module with the attribute `transformer.other_dropping` is refused: it
    names the field by which its definition drops what no op here does (whole layers, spans
    of sound).

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
    which is called in the place of the function; with `recompute=attention` those but
    attention's results, which it computes again from queries, keys and values.

    Error: an op without a backward that the loss depends on; composites are such
    (run `transformer-expand-composites` first, and fusion behind this pass). Likewise an
    operand that depends on a parameter and of which an op has no backward.

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
                 Option<"recompute", "recompute", "std::string", "\"none\"", "none, attention or layer">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::transformer::TransformerDialect"];
}

def ScaleLossPass : Pass<"transformer-scale-loss", "::mlir::ModuleOp"> {
  let summary = "gradients of a loss times a number that a step is given";
  let description = [{
    The function `function`, of a loss and gradients, gets an input `loss_scale` (a scalar of
    f32), by which the gradients of its losses are multiplied, and so are all gradients that it
    gives: rounded to float16, small ones do not become zeros. The loss stays as it is.
    `transformer-add-optimizer` divides by it again, before clipping, and skips a step whose
    gradients are not all finite. Run it in front of `transformer-add-accumulation`.

    Error: no such function.

    Example:
    ```mlir
    %dy = transformer.cross_entropy_gradient %y, %labels, %one : tensor<?x4xf32>, tensor<?xi64>, tensor<f32>
    // becomes
    %scaled = arith.mulf %one, %loss_scale : tensor<f32>
    %dy = transformer.cross_entropy_gradient %y, %labels, %scaled : tensor<?x4xf32>, tensor<?xi64>, tensor<f32>
    ```
    Source: Micikevicius et al. 2018 (Mixed Precision Training), section 3.2; torch.amp.GradScaler.
  }];
  let options = [Option<"function", "function", "std::string", "\"loss_and_gradients\"", "the function of the gradients">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::transformer::TransformerDialect"];
}

def AddAccumulationPass : Pass<"transformer-add-accumulation", "::mlir::ModuleOp"> {
  let summary = "gradients of a step as a sum over parts of its rows";
  let description = [{
    Adds three entry points beside `@LOSS` and `@LOSS_and_gradients`, for a step whose rows
    do not fit into memory at once or belong to several processes:

    - `@count_labels` takes the inputs of `@LOSS`, and gives for each mean that the loss is
      a sum of how many labels it is over: `count0`, `count1`, ...
    - `@accumulate_gradients` takes a part of the rows and the counts of all parts
      together; it gives what the part adds to the loss, and adds its gradients to the
      state `PARAMETER.grad`.
    - `@apply_gradients` has the gradients from there, and becomes an entry point by
      `transformer-add-optimizer`.

    So the sum over parts is that over the whole to rounding, however the labels that
    count are spread. That the state is zero before the first part is up to the caller.

    Error: no such functions.

    Example:
    ```mlir
    %mean = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
    // becomes, in @accumulate_gradients
    %n = transformer.count_labels %labels : tensor<?xi64> -> tensor<f32>
    %share = arith.divf %n, %count0 : tensor<f32>
    %mean = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
    %part = arith.mulf %mean, %share : tensor<f32>
    ```
    Source: `num_items_in_batch` of transformers' Trainer.
  }];
  let options = [Option<"loss", "loss", "std::string", "\"loss\"", "the function of the loss">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::transformer::TransformerDialect"];
}

def ChunkLossPass : Pass<"transformer-chunk-loss", "::mlir::ModuleOp"> {
  let summary = "scores of a vocabulary for some rows at a time";
  let description = [{
    Where nothing but a cross-entropy and its backward reads what a linear layer makes, and
    that is wider than its x (a head over a vocabulary), scores and their gradients are
    made for `rows` rows at a time and never all at once, in a function for all that makes
    or reads them. In it the first chunk, which is often the only one, is a function of its
    own, `first_rows`; `next_rows`, called in a loop, adds to its results in place: the
    loss, the gradients of the rows, of the weight and of the bias. As in
    `transformer-add-accumulation`, the mean of a chunk counts by its labels' share of all.

    What each chunk costs beside its products are the weight, read twice, and its
    gradient, read and written; with more rows they are a smaller share.

    Example:
    ```mlir
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
    %loss = transformer.cross_entropy %y, %labels : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
    // becomes
    %loss = call @loss_of_rows(%x, %labels, %w) : (tensor<?x8xf32>, tensor<?xi64>, tensor<50x8xf32>) -> tensor<f32>
    // in which there are
    %n = transformer.count_labels %labels : tensor<?xi64> -> tensor<f32>
    %count = arith.maximumf %n, %one : tensor<f32>
    %first = call @loss_of_rows.first_rows(%x, %labels, %w, %count) : (tensor<?x8xf32>, tensor<?xi64>, tensor<50x8xf32>, tensor<f32>) -> tensor<f32>
    %loss = scf.for %start = %c512 to %rows step %c512 iter_args(%sum = %first) -> (tensor<f32>) {
      %next = func.call @loss_of_rows.next_rows(%x, %labels, %w, %count, %start, %sum) : (tensor<?x8xf32>, tensor<?xi64>, tensor<50x8xf32>, tensor<f32>, index, tensor<f32>) -> tensor<f32>
      scf.yield %next : tensor<f32>
    }
    ```
    Source: Liger Kernel's fused linear cross-entropy (Hsu et al. 2024).
  }];
  let options = [Option<"rows", "rows", "int64_t", "512", "how many rows at a time">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
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
    gives back as it is. Of what `transformer-add-accumulation` has made,
    `@accumulate_gradients` and `@count_labels` do so, too, and `@apply_gradients` becomes a
    step that takes the gradients from the state.

    With `defer`, where the optimizer's op can skip a step and nothing else asks for the update
    at once (an accumulated step, a loss scale), a step begins with the update of the one
    before: gradients are state `NAME.grad`, and `update_scale` is a result and, of the next
    step, an input; NaN: there is nothing to update. `@apply_update` is that update alone.
    Weights are the same ones, while products of the next forward can hide what the update reads
    and writes. Other entry points become private: they
    would read what is in the weights' file, not what has been trained.

    A function that makes a gradient by a product over tokens returns the sum of its squares, too.
    With `tables` so does one that makes it by several, one after the other, and where embeddings
    add to such a gradient, as to that of a tied head, they give by how much that raises the sum.

    Error: no such function; a gradient of a tensor that is no parameter; no such
    optimizer; with `adafactor` a parameter of more than two dimensions.
  }];
  let options = [Option<"function", "function", "std::string", "\"loss_and_gradients\"",
                        "the function of loss and gradients">,
                 Option<"evaluation", "evaluation", "std::string", "\"evaluate\"",
                        "an entry point that reads what is trained">,
                 Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, sgd or adafactor">,
                 Option<"defer", "defer", "bool", "false", "the next step makes the update">,
                 Option<"tables", "tables", "bool", "false",
                        "what adds to a table's gradient follows the sum of its squares">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::transformer::TransformerDialect"];
}

def SpreadUpdatesPass : Pass<"transformer-spread-updates", "::mlir::ModuleOp"> {
  let summary = "each layer's call updates the next layer's weights";
  let description = [{
    Of a step that begins with the update of the one before (`defer` of
    `transformer-add-optimizer`): where three calls or more of one layer function get the
    updated matrices, each call makes the update of the next call's, beside the op that
    reads its own, and the step begins with the first call's alone. The function gets states
    and gradients of what it updates, and gives the states back; the last call updates no
    rows.

    The largest matrix that nothing reads from the first of these calls to the last, a table
    of words, is updated by all of them, some rows each, as long as the weights that they
    multiply. Lookups in front of them (`transformer.embedding`) look up what the update is
    made of, and update these rows alone.

    Weights that another op reads before the call in front of theirs are updated where they were.
  }];
  let options = [Option<"step", "step", "std::string", "\"train_step\"", "the function of the step">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::transformer::TransformerDialect"];
}

#endif // PASSES_TRAININGPASSES_TD
