//===- MatrixOps.td - what a CPU's matrix registers do --------------------*- tablegen -*-===//

#ifndef CODEGEN_CPU_DIALECT_MATRIXOPS_TD
#define CODEGEN_CPU_DIALECT_MATRIXOPS_TD

include "codegen/cpu/dialect/CpuDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"

def Cpu_OnMatrixRegisters : NativeOpTrait<"OnMatrixRegisters"> {
  let cppNamespace = "::mlir::transformer::cpu";
}

/// Registers have numbers, 0 to 7, not values: upstream's `amx` dialect cannot carry them from one
/// turn of a loop to the next. So the ops stay in their order (none says what its effects are).
class Cpu_MatrixOp<string mnemonicName> : Op<Cpu_Dialect, mnemonicName, [Cpu_OnMatrixRegisters]>;

def Cpu_MatrixRegister : ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<7>]>;

def Cpu_ConfigureMatricesOp : Cpu_MatrixOp<"configure_matrices"> {
  let summary = "gives the matrix registers their shape";
  let description = [{
    All eight become 16 rows of 64 bytes, zeros (x86: `ldtilecfg`, about 65 ns). Every other op on
    them comes behind it and before `release_matrices`, on the same thread. `scratch` is memory for
    the instruction's operand.
  }];
  let arguments = (ins MemRefOf<[F32]>:$scratch);
  let assemblyFormat = "$scratch attr-dict `:` type($scratch)";
}

def Cpu_ReleaseMatricesOp : Cpu_MatrixOp<"release_matrices"> {
  let summary = "the matrix registers hold nothing more: the system need not save them";
  let assemblyFormat = "attr-dict";
}

def Cpu_ZeroMatrixOp : Cpu_MatrixOp<"zero_matrix"> {
  let summary = "zeros in a matrix register";
  let arguments = (ins Cpu_MatrixRegister:$into);
  let assemblyFormat = "$into attr-dict";
}

def Cpu_LoadMatrixOp : Cpu_MatrixOp<"load_matrix"> {
  let summary = "16 rows of 64 bytes from memory";
  let description = [{
    Row i is what begins at `memory[indices]`, i rows further on in the last dimension but one.
    Memory must be there for all 16, within the buffer or behind it. `streamed`: past the
    first-level cache, which keeps what is read again.
  }];
  let arguments = (ins Cpu_MatrixRegister:$into, AnyStridedMemRef:$memory, Variadic<Index>:$indices,
                       UnitAttr:$streamed);
  let assemblyFormat = "(`streamed` $streamed^)? $into `,` $memory `[` $indices `]` attr-dict `:` type($memory)";
}

def Cpu_StoreMatrixOp : Cpu_MatrixOp<"store_matrix"> {
  let summary = "16 rows of 64 bytes to memory";
  let description = [{ To where `load_matrix` reads. }];
  let arguments = (ins Cpu_MatrixRegister:$from, AnyStridedMemRef:$memory, Variadic<Index>:$indices);
  let assemblyFormat = "$from `,` $memory `[` $indices `]` attr-dict `:` type($memory)";
}

def Cpu_AddMatrixProductOp : Cpu_MatrixOp<"add_matrix_product"> {
  let summary = "adds a product of two matrix registers to a third";
  let description = [{
    `sum[i, j] += sum over u < 16 of a[i, u] b[u, j]`, each element of a and b a pair of bfloat16,
    whose products are added. x86's `tdpbf16ps` sums the products of the lower halves and of the
    upper ones in f32 from 0, u ascending, adds both, and that to what there was; numbers below
    2^-126 count as 0.
  }];
  let arguments = (ins Cpu_MatrixRegister:$sum, Cpu_MatrixRegister:$a, Cpu_MatrixRegister:$b);
  let assemblyFormat = "$sum `,` $a `,` $b attr-dict";
}

#endif // CODEGEN_CPU_DIALECT_MATRIXOPS_TD
