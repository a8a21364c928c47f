//===- CpuAttrs.td - a CPU, and the parts of linear layers ----------------*- tablegen -*-===//

#ifndef CODEGEN_CPU_DIALECT_CPUATTRS_TD
#define CODEGEN_CPU_DIALECT_CPUATTRS_TD

include "codegen/cpu/dialect/CpuDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Cpu_Attr<string name, string mnemonicName> : AttrDef<Cpu_Dialect, name> {
  let mnemonic = mnemonicName;
}

def Cpu_TargetAttr : Cpu_Attr<"Target", "target"> {
  let summary = "the facts of a CPU that code generation follows";
  let description = [{
    `transformer-cpu-set-target` puts it on the module; no pass holds such a number as
    a literal.

    | field | |
    |---|---|
    | `name` | as asked for: x86-64-v3, native, x86-64-v3/native, ... |
    | `arch` | whose code it is: x86-64-v3, native, ... |
    | `triple`, `cpu`, `features` | LLVM's |
    | `required` | CPU features that a program checks for when it starts |
    | `vector_lanes`, `vector_registers` | f32 lanes of a register, and registers |
    | `l1_bytes`, `l2_bytes` | of a core: data cache, second-level cache |
    | `line_bytes` | of a cache line |
    | `fma` | a multiply and an add are one instruction |
    | `winograd_vectors` | vectors in a row of the tile of Winograd's inner product, which pays where additions have pipes beside the multiply-adds; 0: it does not |
    | `winograd_least_k` | from so many inputs K on; shorter sums are one block of a pair's or a product's additions either way, of which those of pairs round more |
    | `product_vectors` | vectors in a row of the tile of linear layers' multiply-adds |
    | `packs_ahead` | a panel's weights are better fetched while it is packed than beside the products before it |
    | `streams` | that a core reads from memory at once, or it gets less than memory gives |
    | `unroll` | a loop over single k: enough to hide the loop's own cost |
    | `prefetch_bytes` | how far ahead a tall tile fetches its panel |
    | `task_bytes` | least bytes of weights for a task to be long beside what handing it out costs: about 2 us of reading |
    | `task_rows` | of an elementwise op in a task |
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$arch, StringRefParameter<>:$triple,
                        StringRefParameter<>:$cpu, StringRefParameter<>:$features, "::mlir::ArrayAttr":$required,
                        "int64_t":$vector_lanes, "int64_t":$vector_registers, "int64_t":$l1_bytes,
                        "int64_t":$l2_bytes, "int64_t":$line_bytes, "bool":$fma, "int64_t":$winograd_vectors,
                        "int64_t":$winograd_least_k, "int64_t":$product_vectors, "bool":$packs_ahead, "int64_t":$streams, "int64_t":$unroll, "int64_t":$prefetch_bytes,
                        "int64_t":$task_bytes, "int64_t":$task_rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The target of the module that is or holds `op`; null, with an error at the
    /// module, where there is none.
    static TargetAttr of(::mlir::Operation *op);

    /// Whether `features` has one, as LLVM spells it.
    bool has(::llvm::StringRef feature) const;
    /// Whether there are products of bfloat16 that are summed in f32.
    bool multipliesBfloat16() const { return has("avx512bf16"); }

    /// Rows, and words of a row, of a matrix register that multiplies bfloat16 (AMX's palette 1);
    /// 0: there is none.
    int64_t matrixRows() const { return has("amx-tile") && has("amx-bf16") ? 16 : 0; }

    /// Whether beside a tile's sums there are registers for an optimizer's update, whose memory its
    /// products then hide. Those of matrix registers are over too soon, and of shorter vectors than
    /// AVX-512's nobody has measured it.
    bool hidesUpdates() const {
      return getVectorRegisters() >= 32 && getVectorLanes() >= 16 && !matrixRows();
    }

    /// Vectors in a row of the register tile.
    int64_t tileVectors() const { return 2; }
    /// Columns of a panel.
    int64_t panelColumns() const { return getVectorLanes() * tileVectors(); }
    /// Rows of the register tile: accumulators, one row of the panel and a
    /// broadcast must fit the registers, without FMA also the products.
    int64_t tileRows() const { return getVectorRegisters() >= 32 ? 8 : getFma() ? 6 : 4; }

    /// The same of linear layers by multiply-adds and of products over tokens.
    int64_t productColumns() const { return getVectorLanes() * getProductVectors(); }
    int64_t productRows() const {
      int64_t vectors = getProductVectors();
      return vectors == tileVectors() ? tileRows() : (getVectorRegisters() - vectors - 1) / vectors;
    }
  }];
}

def Cpu_LinearPart : I32EnumAttr<"LinearPart", "a part of a linear layer", [
    I32EnumAttrCase<"Contraction", 0, "contraction">, I32EnumAttrCase<"Partial", 1, "partial">,
    I32EnumAttrCase<"Epilogue", 2, "epilogue">, I32EnumAttrCase<"Loop", 3, "loop">,
    I32EnumAttrCase<"Blocks", 4, "blocks">, I32EnumAttrCase<"Rows", 5, "rows">,
    I32EnumAttrCase<"Beside", 6, "beside">]> {
  let cppNamespace = "::mlir::transformer::cpu";
  let genSpecializedAttr = 0;
}

def Cpu_LinearAttr : Cpu_Attr<"Linear", "linear"> {
  let summary = "which part of a linear layer an op is";
  let description = [{
    The attribute `transformer_cpu.linear` of

    | op | `part` | |
    |---|---|---|
    | `linalg.generic` | `contraction` | sums products on panels, in `format` |
    | | `partial` | the same over a block of k, adding to sums in memory |
    | | `epilogue` | what is done to the sums |
    | | `beside` | an optimizer's update of rows, which the tiles of its task make beside their products |
    | `scf.for` | `loop` | over `steps` of k of a register tile |
    | | `blocks` | the loop over blocks of k around such loops |
    | | `rows` | an epilogue that becomes a function of its own, row by row |

    `before` is how many steps the register tile has gone through in front of the
    loop, on the outermost of them; `panels`, that a `loop` goes through so many at
    once.
    Error: on another op, a format that there is none of, a loop without steps.
  }];
  let parameters = (ins EnumParameter<Cpu_LinearPart>:$part, DefaultValuedParameter<"::mlir::StringAttr", "::mlir::StringAttr()">:$format,
                        DefaultValuedParameter<"int64_t", "0">:$steps, DefaultValuedParameter<"int64_t", "0">:$before,
                        DefaultValuedParameter<"int64_t", "1">:$panels);
  let assemblyFormat = "`<` $part `` custom<LinearDetails>($format, $steps, $before, $panels) `>`";
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral attributeName = "transformer_cpu.linear";
  }];
}

#endif // CODEGEN_CPU_DIALECT_CPUATTRS_TD
