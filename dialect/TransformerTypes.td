//===- TransformerTypes.td - types and operand constraints --------------*- tablegen -*-===//

#ifndef DIALECT_TRANSFORMERTYPES_TD
#define DIALECT_TRANSFORMERTYPES_TD

include "dialect/TransformerDialect.td"

def Transformer_Sequences : TypeDef<Transformer_Dialect, "Sequences"> {
  let mnemonic = "sequences";
  let summary = "which packed rows belong to which sequence, and where they came from";
  let description = [{
    Made by `pack_tokens` from a mask `[batch, sequence]` with `T` kept tokens:
    the batch and sequence sizes, offsets `cu_seqlens[batch + 1]` (sequence `b`
    owns the rows `cu_seqlens[b] .. cu_seqlens[b + 1] - 1`), and for each of the
    `T` rows its place in `[batch, sequence]`. A sequence may be empty.
  }];
}

/// Packed rows: `[T, W]`, T dynamic, W static and not 0.
def Transformer_Rows : Type<
    And<[TensorRankOf<[F32], [2]>.predicate,
         CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(1) > 0">]>,
    "2D tensor of f32 with a static width, not 0 ([tokens, width])", "::mlir::RankedTensorType">;

/// All rows, or a number of them and vectors of numbers inside of elementwise ops.
def Transformer_RowsOrScalar : AnyTypeOf<[Transformer_Rows, F32, VectorOfNonZeroRankOf<[F32]>]>;

/// One integer a packed row: `[T]`.
def Transformer_Ids : Type<TensorRankOf<[I64], [1]>.predicate,
    "1D tensor of i64 ([tokens])", "::mlir::RankedTensorType">;

/// A model input: `[batch, sequence]`.
def Transformer_IdGrid : Type<TensorRankOf<[I64], [2]>.predicate,
    "2D tensor of i64 ([batch, sequence])", "::mlir::RankedTensorType">;

/// Static sizes, none of them 0.
def Transformer_Filled
    : CPred<"::llvm::all_of(::llvm::cast<::mlir::RankedTensorType>($_self).getShape(), "
            "[](int64_t size) { return size > 0; })">;

/// A parameter of rank 1 or 2 with a static shape.
def Transformer_Matrix : Type<
    And<[TensorRankOf<[F32], [2]>.predicate,
         Transformer_Filled]>,
    "2D tensor of f32 with a static shape, not empty", "::mlir::RankedTensorType">;
def Transformer_Vector : Type<
    And<[TensorRankOf<[F32], [1]>.predicate,
         Transformer_Filled]>,
    "1D tensor of f32 with a static shape, not empty", "::mlir::RankedTensorType">;
def Transformer_Weight : Type<
    And<[TensorOf<[F32]>.predicate,
         CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
         Transformer_Filled]>,
    "tensor of f32 with a static shape, not empty", "::mlir::RankedTensorType">;

def Transformer_Prepared : Type<
    And<[TensorOf<[F32, BF16, I8, I32]>.predicate,
         CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
         Transformer_Filled]>,
    "tensor of f32, bf16, i8 or i32 with a static shape, not empty", "::mlir::RankedTensorType">;

#endif // DIALECT_TRANSFORMERTYPES_TD
