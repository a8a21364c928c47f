//===- CpuOps.td - weights and rows as a CPU wants them -------------------*- tablegen -*-===//

#ifndef CODEGEN_CPU_DIALECT_CPUOPS_TD
#define CODEGEN_CPU_DIALECT_CPUOPS_TD

include "codegen/cpu/dialect/CpuAttrs.td"
include "codegen/kernels/KernelBase.td"
include "dialect/TransformerAttrs.td"
include "dialect/WeightFormat.td"
include "mlir/IR/BuiltinAttributes.td"

class Cpu_Op<string mnemonic, list<Trait> traits = []>
    : Kernel_DestinationOp<Cpu_Dialect, mnemonic, traits>;

def Cpu_PackWeightOp : Cpu_Op<"pack_weight", [AttrSizedOperandSegments]> {
  let summary = "weights as the panels that the register tile reads";
  let description = [{
    `panels[p, k, j] = weight(p * NR + j, k)`, where `weight(n, k)` is
    `weights[n, k]` (`out_in`) or `weights[k, n]` (`in_out`), and 0 for n behind
    the last output. ins: one or more weights of one K, whose outputs follow
    each other (merged projections; each but the last has a whole number of
    panels); outs: `[P, K, NR]`, P panels for all outputs. With `scales` (`[K]`)
    panels are for Winograd's inner product, `[P, S, 6, NR]` with
    S = 1 + ceil(K / 6): row k divided by `scales[k]`, a power of two, columns then
    scaled by a power of two to a root mean square in [1, 2), behind a step that
    holds the inverse scales of the columns and what the pairs of weights correct
    (`codegen/cpu/linear/Winograd.h`). With `at`, an index, panels are those from that
    one on, as many as the outs hold; of those behind the last there is nothing. With `ahead`, what is
    read next is fetched meanwhile: nobody did that before.

    The type of the panels says how they hold weights, as
    `transformer.quantize_weight` defines:

    | panels | scales | |
    |---|---|---|
    | `[P, K, NR]` bf16 | | rounded |
    | `[P, K, NR]` i8 | `[P, 1, NR]` f32, of `weight_scales` | over the scale of its column |
    | `[P, S, NR]` i32, S >= ceil(K / 2) | | rounded to bf16: k = 2 s in the lower half of word s, 2 s + 1 in the upper; 0 behind K |
    | `[P, 1, S, NR]` i32 | | the same |
    | `[P, 3, S, NR]` i32 | | likewise, three bf16 of which f32 is the sum, the largest first (`codegen/cpu/linear/Parts.h`) |
    | `[P, G, 8, NR]` i32, G = ceil(K / 32) | `[P, 1, NR]` f32 | over the scale of its column, plus 128, in bytes: 32 g + 8 w + 2 i in byte i of word 2 w of group g, 32 g + 8 w + 2 i + 1 in that of word 2 w + 1; 0 behind K |
    | `[P, G, 4, NR]` i32 | `[P, G, NR]` bf16 | weight 32 g + 8 w + u over its scale, plus 8, in the bits from 4 u of word w of group g; 0 behind K |
  }];
  let arguments = (ins Variadic<Kernel_Buffer>:$weights, Optional<Kernel_Buffer>:$scales, Optional<Index>:$first,
                       Variadic<Kernel_Buffer>:$outs, Transformer_WeightLayoutAttr:$layout, UnitAttr:$ahead);
  let assemblyFormat = "$layout (`at` $first^)? (`ahead` $ahead^)? `ins` `(` $weights `)` (`scales` `(` $scales^ `)`)? `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = Kernel_DestinationDeclaration # [{
    /// Of words in i32: whether their weights have 4 bits.
    bool holdsInt4();
  }];
}

/// StaysInCalls.h.
def Cpu_StaysInCalls : NativeOpTrait<"StaysInCalls"> {
  let cppNamespace = "::mlir::transformer";
}

def Cpu_SplitPanelsOp : Cpu_Op<"split_panels", [Cpu_StaysInCalls, AttrSizedOperandSegments]> {
  let summary = "panels of float32 as three parts";
  let description = [{
    What `pack_weight` makes of a weight in parts, of panels that it has made in float32: they are
    two thirds as large, and so is what a call reads from memory. ins: `[P, K, NR]` f32; outs: `[P, 3, S, NR]`
    i32, S >= ceil(K / 2), of three bfloat16 of which each number is the sum, the largest first
    (`codegen/cpu/linear/Parts.h`), 0 behind K. With `at`, an index, and with `ahead`: as of `pack_weight`.
    With `words`, an index, too, words are those from that one on, as many as the outs hold; `inside`:
    none of them is behind K.
  }];
  let arguments = (ins Kernel_Buffer:$panels, Optional<Index>:$first, Optional<Index>:$word,
                       Variadic<Kernel_Buffer>:$outs, UnitAttr:$ahead, UnitAttr:$inside);
  let assemblyFormat = "(`at` $first^)? (`words` $word^)? (`inside` $inside^)? (`ahead` $ahead^)? `ins` `(` $panels `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_WeightGradientOp : Cpu_Op<"weight_gradient"> {
  let summary = "a product over the tokens";
  let description = [{
    `c[m, n] = sum over t of a[t, m] b[t, n]`, in the order of t. ins: a `[T, M]`,
    b `[T, N]` (rows may be strided), or, with scratch of i32 and without `matrices`, words as
    `bfloat16_rows` makes of them; outs: c `[M, N]` and scratch: a in strips of MR
    columns, `[ceil(M / MR), T, MR]`, b in panels of NR, `[ceil(N / NR), T, NR]`. With
    scratch of i32, `[.., ceil(T / 2), ..]`, a and b are rounded to bfloat16, two tokens
    a word as `dot_bfloat16` multiplies them, the earlier one in the lower half. With
    `winograd`, sums are of Winograd's inner product, and the scratch has the rows that
    codegen/cpu/linear/Winograd.h tells of; behind it come scales of tokens, `[T]`. With
    `matrices`, sums are of matrix registers of n words, and both have words for whole ones: the
    scratch of a `[ceil(M / MR), .., parts, MR, n]`, that of b `[ceil(N / NR), parts, .., NR]`;
    three parts are f32 as of `pack_weight`, one is rounded. Where M is eight
    times N or more, and N at most 2048, the scratch of a has no words: each task makes its own
    strips. With
    `squares`, the last two of outs are the sum of the squares of c, a scalar, and scratch,
    those of tiles: `[ceil(N / NR) * ceil(M / MR)]`. With `onto`, the sum is added to what c
    has.
  }];
  let arguments = (ins Kernel_Buffer:$a, Kernel_Buffer:$b, Variadic<Kernel_Buffer>:$outs,
                       UnitAttr:$winograd, UnitAttr:$matrices, UnitAttr:$squares, UnitAttr:$onto);
  let extraClassDeclaration = Kernel_DestinationDeclaration # [{
    /// Whether tasks make their own strips of a in matrix registers: panels are so few beside the
    /// strips that a task goes through all of them with some strips alone, which pass through no
    /// memory then.
    static bool makesStripsInTasks(int64_t m, int64_t n) { return m >= 8 * n && n <= 2048; }
  }];
  let assemblyFormat = "(`winograd` $winograd^)? (`matrices` $matrices^)? (`squares` $squares^)? (`onto` $onto^)? `ins` `(` $a `,` $b `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_WeightScalesOp : Cpu_Op<"weight_scales", [AttrSizedOperandSegments]> {
  let summary = "what integers of a weight are multiplied by";
  let description = [{
    The scales of `transformer.quantize_weight` in the panels' order, 0 for columns
    behind the last output. ins: one or more weights, as of `pack_weight`; outs:
    `[P, 1, NR]` f32 (`int8`) or `[P, ceil(K / 32), NR]` bf16 (`int4`).
  }];
  let arguments = (ins Variadic<Kernel_Buffer>:$weights, Variadic<Kernel_Buffer>:$outs,
                       Transformer_WeightFormatAttr:$format, Transformer_WeightLayoutAttr:$layout);
  let assemblyFormat = "$format $layout `ins` `(` $weights `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_Int4RowsOp : Cpu_Op<"int4_rows"> {
  let summary = "rows for products with weights in 4 bits";
  let description = [{
    Place u < 8 of word w of group g holds feature 32 g + 8 w + u, 0 behind the last,
    over 16^u where u < 7: an integer in the bits from 4 u of a word is 16^u times
    too large. Place 8 of word 0 is -8 times the sum of the group's features, since
    weights have 8 added; of other words it is 0. A row with an infinity becomes NaN.
    ins: x `[T, K]`; outs: `[T, ceil(K / 32), 4, 9]`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $x `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_IntegerRowsOp : Cpu_Op<"integer_rows"> {
  let summary = "rows as integers of 8 bits";
  let description = [{
    What `transformer.quantize_rows` rounds x to, as `dot_bytes` reads it. Of each
    group of 32 features, 0 behind the last: places 0 to 7 are words of four
    integers, feature 32 g + 8 w + 2 i in byte i of word 2 w of group g and feature
    32 g + 8 w + 2 i + 1 in that of word 2 w + 1; place 8 is `-offset` times the sum of the
    integers, since weights have `offset` added; place 9 holds the bits of the scale,
    f32. ins: x `[T, K]`; outs: `[T, ceil(K / 32), 10]` i32.
  }];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$outs, I64Attr:$offset);
  let assemblyFormat = "`offset` $offset `ins` `(` $x `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_Bfloat16RowsOp : Cpu_Op<"bfloat16_rows"> {
  let summary = "rows as pairs of bfloat16";
  let description = [{
    What `transformer.quantize_rows` rounds x to in `bf16`, numbers below 2^-126 to 0,
    as `dot_bfloat16` reads it: feature 2 s in the lower half of word s, 2 s + 1 in the
    upper, 0 behind the last as far as words of whole groups of 32 features. ins: x `[T, K]`;
    outs: `[R, S]` i32, R >= T and S >= ceil(K / 2), anything where nothing is said. Or, for
    matrix registers of n rows of n words, one behind the other as products read them,
    `[R / n, S / n, parts, n, n]`: word s of row t is `[t / n, s / n, 0, t % n, s % n]`. With three
    parts nothing is rounded: they are three bfloat16 of which x is the sum, the largest first
    (`codegen/cpu/linear/Parts.h`). With an activation it is that of x which is rounded.
  }];
  let arguments = (ins Kernel_Buffer:$x, Variadic<Kernel_Buffer>:$outs,
                       OptionalAttr<Transformer_ActivationKindAttr>:$activation);
  let assemblyFormat = "(`activation` $activation^)? `ins` `(` $x `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_MultiplyMatricesOp : Cpu_Op<"multiply_matrices"> {
  let summary = "the sums of a tile, by matrix registers";
  let description = [{
    `sums[i, 0, j] = sum over s of x[first + i, s] panel[0, 0, s, j]` for i < `rows`, each word a
    pair of bfloat16 as of `dot_bfloat16`, summed as `add_matrix_product` does, a register of s
    after the other. Of three parts it is the sum of the six largest products of two
    (`codegen/cpu/linear/Parts.h`) in each register of s. ins: x of registers as `bfloat16_rows`
    makes them, `[R / n, S / n, parts, n, n]` i32; `first`, a multiple of n; `rows`, at most MR;
    panel `[1, parts, S, NR]` i32; outs: sums `[MR, 1, NR]`, MR and NR two registers each; rows from
    `rows` on are anything. `transformer-cpu-lower-vectors` makes a loop over registers of it.
  }];
  let arguments = (ins Kernel_Buffer:$x, Index:$first, Index:$rows, Kernel_Buffer:$panel,
                       Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $x `[` $first `]` `rows` $rows `,` $panel `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_Words : AnyTypeOf<[I32, VectorOfAnyRankOf<[I32]>]>;

def Cpu_DotBytesOp : Op<Cpu_Dialect, "dot_bytes", [Pure, AllTypesMatch<["w", "x", "sum", "result"]>]> {
  let summary = "sums of products of bytes";
  let description = [{
    `sum + w0 x0 + w1 x1 + w2 x2 + w3 x3` of each word, with the bytes of w from 0 to
    255 (with `nibbles` to 15) and those of x from -128 to 127, modulo 2^32.
    `transformer-cpu-lower-vectors` makes instructions of it: x86's `vpdpbusd`,
    `vpmaddubsw` for nibbles and `vpmaddwd`, or arithmetic.
  }];
  let arguments = (ins Cpu_Words:$w, Cpu_Words:$x, Cpu_Words:$sum, UnitAttr:$nibbles);
  let results = (outs Cpu_Words:$result);
  let assemblyFormat = "(`nibbles` $nibbles^)? $w `,` $x `,` $sum attr-dict `:` type($sum)";
}

def Cpu_Floats : AnyTypeOf<[F32, VectorOfAnyRankOf<[F32]>]>;

def Cpu_DotBfloat16Op : Op<Cpu_Dialect, "dot_bfloat16", [Pure, AllTypesMatch<["w", "x"]>,
    AllTypesMatch<["sum", "result"]>]> {
  let summary = "sums of products of pairs of bfloat16";
  let description = [{
    `sum + w0 x0 + w1 x1` in f32, with the lower halves w0 and x0 and the upper
    halves w1 and x1 of each word taken as bfloat16. In which order the three are added
    and rounded, and that numbers below 2^-126 count as 0, is the instruction's.
    `transformer-cpu-lower-vectors` makes x86's `vdpbf16ps` of it; nothing else has it.
  }];
  let arguments = (ins Cpu_Words:$w, Cpu_Words:$x, Cpu_Floats:$sum);
  let results = (outs Cpu_Floats:$result);
  let assemblyFormat = "$w `,` $x `,` $sum attr-dict `:` type($w) `,` type($sum)";
}

def Cpu_EstimatedOp : Op<Cpu_Dialect, "estimated", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "x, of which the mean squares of its columns are known about";
  let description = [{
    The result is x. `squares` (`[K]`) says what the squares of each feature of x
    (`[T, K]`) are about on average, as far as weights tell: an estimate that may
    be far off. How a linear layer of x is computed may depend on it, what it
    computes does not. Made by `transformer-cpu-estimate-squares`; gone with
    `transformer-cpu-pack-linear`.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$squares);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$x `squares` `(` $squares `)` attr-dict `:` type($x) `,` type($squares)";
}

def Cpu_SampleSquaresOp : Cpu_Op<"sample_squares", [AttrSizedOperandSegments]> {
  let summary = "mean squares of the rows or columns of a matrix, from a sample";
  let description = [{
    `out[i]` is about the mean over j of `m(i, j)^2 f(j)`, where `m(i, j)` is
    `matrix[i, j]` with `dim = 0` and `matrix[j, i]` with `dim = 1`. `f(j)` is
    `factors[j]`; without factors each line j counts alike, `f(j)` is one over the
    mean of its squares. An m(i, j) of 0 tells nothing and counts like the mean of
    line j. At most 32 lines j are looked at, the same for all i; one whose squares
    are out of float32's range does not count. The result is at least 2^-120.

    ins: a matrix f32, factors `[J]` 0 or 1 times; outs: `[I]`.
  }];
  let arguments = (ins Kernel_Buffer:$matrix, Optional<Kernel_Buffer>:$factors, Variadic<Kernel_Buffer>:$outs,
                       I64Attr:$dim);
  let assemblyFormat = "`ins` `(` $matrix `)` (`factors` `(` $factors^ `)`)? `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_WinogradScalesOp : Cpu_Op<"winograd_scales", [AttrSizedOperandSegments]> {
  let summary = "what features are scaled by for Winograd's inner product";
  let description = [{
    `scales[k]` is the power of four that is nearest to
    `c (rms of weight(:, k) / rms of x_k)^(1/2)`, with c such that the logarithms
    have the mean 0: only what is far from the others changes its size. The
    outputs of the weights count alike and are a sample (`sample_squares`);
    `squares` are x's mean squares, without which all are taken to be the same.

    ins: one or more weights of one K, `[N, K]` (`out_in`) or `[K, N]` (`in_out`);
    squares `[K]` 0 or 1 times; outs: `[K]`.
  }];
  let arguments = (ins Variadic<Kernel_Buffer>:$weights, Optional<Kernel_Buffer>:$squares, Variadic<Kernel_Buffer>:$outs,
                       Transformer_WeightLayoutAttr:$layout);
  let assemblyFormat = "$layout `ins` `(` $weights `)` (`squares` `(` $squares^ `)`)? `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

def Cpu_WinogradRowsOp : Cpu_Op<"winograd_rows"> {
  let summary = "rows for Winograd's inner product";
  let description = [{
    Feature k multiplied by `scales[k]`, a power of two, every row then scaled by
    a power of two to a root mean square in [1, 2), behind a step that holds what
    the pairs of x correct (`codegen/cpu/linear/Winograd.h`). A row's result depends on that
    row and the scales alone; one with a NaN or an infinity becomes NaN. ins: x
    `[T, K]`, scales `[K]`; outs: `[T, S, 6]` with S = 1 + ceil(K / 6), and the
    inverse scales of the rows, each as a vector: `[T, NR]`.
  }];
  let arguments = (ins Kernel_Buffer:$x, Kernel_Buffer:$scales, Variadic<Kernel_Buffer>:$outs);
  let assemblyFormat = "`ins` `(` $x `,` $scales `)` `outs` `(` $outs `)` attr-dict `:` functional-type(operands, results)";
}

#endif // CODEGEN_CPU_DIALECT_CPUOPS_TD
