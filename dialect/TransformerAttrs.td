//===- TransformerAttrs.td - enums and attributes -----------------------*- tablegen -*-===//

#ifndef DIALECT_TRANSFORMERATTRS_TD
#define DIALECT_TRANSFORMERATTRS_TD

include "dialect/TransformerDialect.td"

class Transformer_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::transformer";
  let genSpecializedAttr = 0;
}
class Transformer_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<Transformer_Dialect, info, mnemonic>;

def Transformer_ActivationKind : Transformer_Enum<"ActivationKind", "activation function", [
  I32EnumAttrCase<"Relu", 0, "relu">,           // max(x, 0)
  I32EnumAttrCase<"Gelu", 1, "gelu">,           // x Phi(x), with erf
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,  // Hugging Face's gelu_new, gelu_pytorch_tanh
  I32EnumAttrCase<"Silu", 3, "silu">,           // x sigmoid(x)
  I32EnumAttrCase<"QuickGelu", 4, "quick_gelu">, // x sigmoid(1.702 x)
  I32EnumAttrCase<"Tanh", 5, "tanh">
]>;
def Transformer_ActivationKindAttr : Transformer_EnumAttr<Transformer_ActivationKind, "activation">;

def Transformer_WeightLayout : Transformer_Enum<"WeightLayout", "order of a linear layer's weight", [
  I32EnumAttrCase<"OutIn", 0, "out_in">, // PyTorch Linear
  I32EnumAttrCase<"InOut", 1, "in_out">  // Hugging Face Conv1D
]>;
def Transformer_WeightLayoutAttr : Transformer_EnumAttr<Transformer_WeightLayout, "weight_layout">;

def Transformer_SinusoidLayout : Transformer_Enum<"SinusoidLayout", "order of sinusoid columns", [
  I32EnumAttrCase<"Interleaved", 0, "interleaved">, // sin, cos, sin, cos, ...
  I32EnumAttrCase<"Halves", 1, "halves">            // all sin, then all cos (Marian)
]>;
def Transformer_SinusoidLayoutAttr : Transformer_EnumAttr<Transformer_SinusoidLayout, "sinusoid_layout">;

def Transformer_InitKind : Transformer_Enum<"InitKind", "distribution of initial values", [
  I32EnumAttrCase<"Zeros", 0, "zeros">,
  I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Normal", 2, "normal">,                   // value: standard deviation
  I32EnumAttrCase<"TruncatedNormal", 3, "truncated_normal">, // value: standard deviation, cut at 2
  I32EnumAttrCase<"Uniform", 4, "uniform">,                 // value: bound
  I32EnumAttrCase<"XavierUniform", 5, "xavier_uniform">,    // bound sqrt(6 / (fan_in + fan_out))
  I32EnumAttrCase<"XavierNormal", 6, "xavier_normal">,      // variance 2 / (fan_in + fan_out)
  I32EnumAttrCase<"KaimingUniform", 7, "kaiming_uniform">,  // bound sqrt(6 / ((1 + a^2) fan_in)), value: a
  I32EnumAttrCase<"KaimingNormal", 8, "kaiming_normal">,    // variance 2 / ((1 + a^2) fan_in), value: a
  I32EnumAttrCase<"Constant", 9, "constant">,               // value
  I32EnumAttrCase<"Sinusoids", 10, "sinusoids">             // value: see #transformer.init
]>;
def Transformer_InitAttr : AttrDef<Transformer_Dialect, "Init"> {
  let mnemonic = "init";
  let summary = "how a parameter is initialised before training";
  let description = [{
    `#transformer.init<normal, 0.02 : f64>`. `value` is the standard deviation
    (normal, truncated_normal), the bound (uniform), every element (constant) or
    the negative slope `a` (kaiming_uniform and kaiming_normal, 0 where it is
    missing; with the first sqrt(5) is PyTorch's Linear default, bound
    1/sqrt(fan_in)). Fans are those of a shape `[out, in, kernel...]`,
    as torch.nn.init counts them: a weight stored `[in, out]` has them the other
    way round, so give it one of the other kinds.

    `<sinusoids, V>` is a table `[positions, width]` without chance: the sines of
    `position / 10000^(i / V)` for i = 0, 1, ... below half of the width, then the
    cosines of the same angles; V is half of the width (Marian) or one less (Whisper).

    `<normal, 1.0 : f64, zero_row = 0>`: this row of a table starts as zeros, the
    one of padding.

    Error: a value that the kind does not have or that is missing, one below 0
    (but of constant; of sinusoids one that is not above 0), a zero_row below 0.

    Source: Glorot and Bengio 2010, He et al. 2015, torch.nn.init; for zero_row
    torch.nn.Embedding's padding_idx.
  }];
  let parameters = (ins EnumParameter<Transformer_InitKind>:$kind,
                        OptionalParameter<"::mlir::FloatAttr">:$value,
                        OptionalParameter<"std::optional<int64_t>">:$zeroRow);
  // A row of zeros goes with a value only, so the two commas are not ambiguous.
  let assemblyFormat = "`<` $kind (`,` $value^)? (`,` `zero_row` `=` $zeroRow^)? `>`";
  let genVerifyDecl = 1;
}

def Transformer_LossKind : Transformer_Enum<"LossKind", "what a number adds to a loss", [
  I32EnumAttrCase<"Squared", 0, "squared">,                       // (x - y)^2
  I32EnumAttrCase<"BinaryCrossEntropy", 1, "binary_cross_entropy"> // of sigmoid(x) and y
]>;
def Transformer_LossKindAttr : Transformer_EnumAttr<Transformer_LossKind, "loss_kind">;

def Transformer_ObjectiveKind : Transformer_Enum<"ObjectiveKind", "what a model is trained for", [
  I32EnumAttrCase<"NextToken", 0, "next_token">,     // of each token the next one
  I32EnumAttrCase<"MaskedToken", 1, "masked_token">, // of tokens that were replaced which they were
  I32EnumAttrCase<"TargetToken", 2, "target_token">, // of each token of a decoder the label beside it
  I32EnumAttrCase<"TokenClass", 3, "token_class">,   // of each token its class
  I32EnumAttrCase<"Class", 4, "class">,              // of each sequence its class
  I32EnumAttrCase<"MultiLabel", 5, "multi_label">,   // of each sequence which of its classes hold
  I32EnumAttrCase<"Regression", 6, "regression">,    // of each sequence its numbers
  I32EnumAttrCase<"Span", 7, "span">,                // of each sequence where an answer begins and ends
  I32EnumAttrCase<"NextSentence", 8, "next_sentence">,   // masked_token, and whether a sequence's second text follows its first
  I32EnumAttrCase<"SentenceOrder", 9, "sentence_order">, // masked_token, and whether a sequence's two texts are in order
  I32EnumAttrCase<"ReplacedToken", 10, "replaced_token"> // of each token whether it was replaced
]>;
def Transformer_ObjectiveAttr : AttrDef<Transformer_Dialect, "Objective"> {
  let mnemonic = "objective";
  let summary = "what a model is trained for, and what its labels are";
  let description = [{
    `#transformer.objective<target_token, padding = 0, label_smoothing = 0.1>`. Labels
    are classes, of tokens `[batch, sequence]`, of sequences (class) `[batch]`, which
    the output `logits` has a score for each of; the loss is the mean cross-entropy of
    those that are neither -100 nor `padding`. With multi_label and regression labels
    are numbers like `logits`, `[batch, N]` (regression with N = 1: `[batch]`), and the
    loss is the mean of all binary cross-entropies or squared differences.

    Others have outputs and labels of their own, and a loss that is a sum of two:

    - `span`: `start_positions` and `end_positions`, `[batch]`, are columns of a row, of
      which `start_logits` and `end_logits` have a score each; the loss is the mean of
      both `span_loss`es. Scores of padding are never computed, so the softmax is over a
      row's unmasked tokens; transformers', which computes them, adds them up with the
      others, and gives the same for rows without padding.
    - `next_sentence`, `sentence_order`: `labels` of tokens for `prediction_logits` (alone
      what padding and label_smoothing are for), and of sequences a class, `[batch]`:
      `next_sentence_label` for `seq_relationship_logits`, `sentence_order_label` for
      `sop_logits`. The loss is the sum of both mean cross-entropies.

    With replaced_token `labels` of tokens are 1 or 0, and the loss is the mean binary
    cross-entropy of the unmasked ones.
    Error: a label_smoothing outside [0, 1), or where labels are no classes.
    Source: the losses of transformers' heads; torch.nn.CrossEntropyLoss,
    BCEWithLogitsLoss, MSELoss.
  }];
  let parameters = (ins EnumParameter<Transformer_ObjectiveKind>:$kind, "std::optional<int64_t>":$padding,
                        APFloatParameter<"f64">:$labelSmoothing);
  let builders = [AttrBuilder<(ins "ObjectiveKind":$kind, CArg<"std::optional<int64_t>", "{}">:$padding,
                                   CArg<"double", "0">:$labelSmoothing), [{
    return $_get($_ctxt, kind, padding, ::llvm::APFloat(labelSmoothing));
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Transformer_LoraAttr : AttrDef<Transformer_Dialect, "Lora"> {
  let mnemonic = "lora";
  let summary = "low-rank adapters of linear layers";
  let description = [{
    `#transformer.lora<rank = 8, alpha = 16.0, targets = ["q_proj", "v_proj"]>`, as
    `transformer.lora` of a module: the weight W of each linear layer whose module, the
    weight's name without `.weight`, is a target or ends in `.` and one, stands for
    `W + alpha / rank * B A` with A `[rank, in]` and B `[out, rank]`. `dropout` is the rate
    at which the input of A is dropped in training.
    Error: a rank below 1, an alpha that is not above 0, a dropout outside [0, 1), no target.
    Source: Hu et al. 2021 (LoRA: Low-Rank Adaptation of Large Language Models); names as in PEFT.
  }];
  let parameters = (ins "int64_t":$rank, APFloatParameter<"f64">:$alpha, APFloatParameter<"a rate, f64">:$dropout,
                        ArrayRefParameter<"::mlir::StringAttr">:$targets);
  let builders = [AttrBuilder<(ins "int64_t":$rank, "double":$alpha, "double":$dropout,
                                   "::llvm::ArrayRef<::mlir::StringAttr>":$targets), [{
    return $_get($_ctxt, rank, ::llvm::APFloat(alpha), ::llvm::APFloat(dropout), targets);
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether a parameter of that name is a target's weight.
    bool adapts(::llvm::StringRef parameter) const;
  }];
}

def Transformer_DefaultKind : Transformer_Enum<"DefaultKind", "how a missing input is made", [
  I32EnumAttrCase<"Ones", 0, "ones">,
  I32EnumAttrCase<"Zeros", 1, "zeros">,
  I32EnumAttrCase<"Columns", 2, "columns">,
  I32EnumAttrCase<"NotEqual", 3, "not_equal">,
  I32EnumAttrCase<"Greater", 4, "greater">,
  I32EnumAttrCase<"CountNotEqual", 5, "count_not_equal">,
  I32EnumAttrCase<"CountBefore", 6, "count_before">
]>;
def Transformer_DefaultAttr : AttrDef<Transformer_Dialect, "Default"> {
  let mnemonic = "default";
  let summary = "how a missing input `[batch, sequence]` is made";
  let description = [{
    `#transformer.default<ones>`, `<zeros>`, `<columns>` (0, 1, 2, ... in each
    row), `<not_equal, "input_ids", 0>` and `<greater, "input_ids", 0>` (1 or 0
    by comparing another input), `<count_not_equal, "input_ids", 1>` (RoBERTa's
    positions: value + how many ids up to and with this one differ from value,
    where this id differs; value elsewhere), `<count_before, "attention_mask", 0>`
    (OPT's: how many elements before this one differ from value).
  }];
  let parameters = (ins EnumParameter<Transformer_DefaultKind>:$kind,
                        OptionalParameter<"::mlir::StringAttr">:$input,
                        DefaultValuedParameter<"int64_t", "0">:$value);
  let assemblyFormat = "`<` $kind (`,` $input^)? (`,` $value^)? `>`";
  let genVerifyDecl = 1;
}

def Transformer_NormAttr : AttrDef<Transformer_Dialect, "Norm"> {
  let mnemonic = "norm";
  let summary = "the formula of a normalisation";
  let description = [{
    `#transformer.norm<eps = 1.0e-12, unbiased, eps_outside>`: what the deviation
    is that a row is divided by. With var the variance of a row of width W (or,
    for an RMS norm, the mean of its squares): `sqrt(var + eps)`, with
    `eps_outside` `sqrt(var) + eps`; var divides by W, with `unbiased` by W - 1.
    Error: eps that is not >= 0.
  }];
  let parameters = (ins APFloatParameter<"added to the variance, f64">:$eps,
                        "bool":$unbiased, "bool":$epsOutside);
  let builders = [AttrBuilder<(ins "double":$eps, CArg<"bool", "false">:$unbiased,
                                   CArg<"bool", "false">:$epsOutside), [{
    return $_get($_ctxt, ::llvm::APFloat(eps), unbiased, epsOutside);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Transformer_AttentionOptionsAttr : AttrDef<Transformer_Dialect, "AttentionOptions"> {
  let mnemonic = "attention_options";
  let summary = "which keys a query sees";
  let description = [{
    `#transformer.attention_options<causal, window = 4096, dropout = 0.1, bf16>`. Positions are counted
    from the end: of Tq queries and Tk keys of one sequence, query i stands at
    position `p = i + Tk - Tq` among the keys. So a prompt at once, its last part
    and one new token behind a cache of keys are the same op. With `causal` the
    query sees the keys `j <= p`. With `window` only those whose distance from
    `p` is less than it, the query's own position included: `p - window < j`
    and, where not causal, `j < p + window`. 0, the default, is no window. `dropout`
    is the rate at which a training step drops probabilities; 0, the default, is none.
    With `bf16` or `f16` what each value is multiplied by, `exp(S)` and the factor of
    dropout, is rounded to bfloat16, or float16, of any exponent, to nearest, ties to even,
    while the sum that it is divided by is not; a target may round less, and what is below
    2^-14 of the largest to a multiple of 2^-24 of that. Error: a negative window, a rate outside [0, 1).

    Source: causal: Vaswani et al. 2017, section 3.2.3; window: Mistral (Jiang et
    al. 2023), the `sliding_window` of Hugging Face's configurations.
  }];
  let parameters = (ins "bool":$causal, "int64_t":$window, APFloatParameter<"a rate, f64">:$dropout,
                        "::mlir::FloatType":$rounding);
  let builders = [AttrBuilder<(ins CArg<"bool", "false">:$causal, CArg<"int64_t", "0">:$window,
                                   CArg<"double", "0">:$dropout, CArg<"::mlir::FloatType", "{}">:$rounding), [{
    return $_get($_ctxt, causal, window, ::llvm::APFloat(dropout), rounding);
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same keys with another rate.
    AttentionOptionsAttr withDropout(double rate) const {
      return get(getContext(), getCausal(), getWindow(), rate, getRounding());
    }
    /// The same keys with weights rounded to this type.
    AttentionOptionsAttr withRounding(::mlir::FloatType type) const {
      return get(getContext(), getCausal(), getWindow(), getDropout().convertToDouble(), type);
    }
  }];
}
/// All keys of its own sequence, where nothing is said.
def Transformer_AttentionOptions : DefaultValuedAttr<Transformer_AttentionOptionsAttr,
    "::mlir::transformer::AttentionOptionsAttr::get($_builder.getContext())"> {
  let constBuilderCall = "$0";
}

#endif // DIALECT_TRANSFORMERATTRS_TD
