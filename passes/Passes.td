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

def ChooseTokensEarlyPass : Pass<"transformer-choose-tokens-early", "::mlir::ModuleOp"> {
  let summary = "compute only the rows that are read at the end";
  let description = [{
    Where of all rows only the first or the last of each sequence is read (the
    logits of a step, a classification head), `first_token` and `last_token` move
    in front of the row-wise ops whose results nobody else reads, through the call
    that makes them into a copy of the layer: of a decoder's last layer all tokens
    give keys and values, one a sequence goes through what is behind attention.

    A row's bits do not depend on the others, so none changes; zeros for empty
    sequences are made again at the end (`clear_empty`).

    Left alone: rows that something else reads; layers that do not know the
    sequences, or in which no linear layer would have fewer rows.

    Example:
    ```mlir
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %z = transformer.last_token %y, %seq : tensor<?x16xf32> -> tensor<?x16xf32>
    // becomes
    %c = transformer.last_token %x, %seq : tensor<?x8xf32> -> tensor<?x8xf32>
    %y = transformer.linear %c, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %z = transformer.clear_empty %y, %seq : tensor<?x16xf32>
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
    A sum that two norms read is fused with the first. Backward, `arith.addf(r, dx)` of the dx of
    a norm's gradient becomes that gradient's, onto r.

    Left alone: a sum that is read before gamma and beta exist; a dx that something else reads, or
    that is made before r.

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

def QuantizeEncodersPass : Pass<"transformer-quantize-encoders", "::mlir::ModuleOp"> {
  let summary = "Attention of programs that keep no state multiplies rounded rows";
  let description = [{
    In a module without `append_pages` and `paged_attention` q, k and v of every `attention` go
    through `quantize_rows` in the format `activations`, and what it weights values by is rounded, as
    `transformer-quantize-weights` does with `attention`. Where a cache is kept nothing changes: its
    numbers are float32, and a step gives what the whole sequence gives.
  }];
  let options = [Option<"activations", "activations", "std::string", "\"bf16\"", "bf16 or f16">];
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
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
    share once. With `activations=bf16`, `f16` or `tf32` so do those of a linear whose weight is in
    the same, and both operands of every `linear_weight_gradient`. With `attention` as
    well so do q, k and v of every `attention` and of every `attention_gradient`,
    and the latter's dresult, what `append_pages` puts into a cache and q of every
    `paged_attention`; what they weight these by is rounded then (`bf16`, or `f16`, of their
    options). Those with scores of distances are left alone. Columns of a merged projection
    that attention alone reads are rounded where they are one. A `sum_rows` of rows that are rounded for
    a product, the gradient of a bias, adds these (as PyTorch's autocast does).

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
  let options = [Option<"format", "format", "std::string", "\"f32\"", "f32, bf16, f16, tf32, int8 or int4">,
                 Option<"activations", "activations", "std::string", "\"f32\"", "f32; bf16 with bf16, f16 with f16, tf32 with tf32, int8 with int8 or int4">,
                 Option<"attention", "attention", "bool", "false", "attention multiplies, and gradients of biases add, rows of bf16 or f16, too">];
  let dependentDialects = ["::mlir::transformer::TransformerDialect"];
}

include "passes/TrainingPasses.td"

#endif // PASSES_PASSES_TD
