//===- TransformerDialect.h - the transformer dialect ---------------------===//
#ifndef DIALECT_TRANSFORMERDIALECT_H
#define DIALECT_TRANSFORMERDIALECT_H

#include "dialect/CostInterface.h"
#include "dialect/DifferentiateInterface.h"
#include "dialect/RowWise.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
}

#include "dialect/TransformerDialect.h.inc"
#include "dialect/TransformerEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TransformerAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TransformerTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/TransformerOps.h.inc"

namespace mlir::transformer {

/// Names of the discardable attributes on entry points, their arguments and
/// results; TransformerDialect.td says what each holds.
namespace attr {
inline constexpr llvm::StringLiteral entry = "transformer.entry";
inline constexpr llvm::StringLiteral name = "transformer.name";
inline constexpr llvm::StringLiteral defaultValue = "transformer.default";
inline constexpr llvm::StringLiteral range = "transformer.range";
inline constexpr llvm::StringLiteral ignored = "transformer.ignored"; // allowed outside of it
inline constexpr llvm::StringLiteral maxLength = "transformer.max_length";
inline constexpr llvm::StringLiteral dims = "transformer.dims";
inline constexpr llvm::StringLiteral below = "transformer.below";
inline constexpr llvm::StringLiteral state = "transformer.state";
inline constexpr llvm::StringLiteral output = "transformer.output"; // behind PassDestinations
inline constexpr llvm::StringLiteral objective = "transformer.objective";
inline constexpr llvm::StringLiteral scope = "transformer.scope";
inline constexpr llvm::StringLiteral modelType = "transformer.model_type";
inline constexpr llvm::StringLiteral embedding = "transformer.embedding";
inline constexpr llvm::StringLiteral lora = "transformer.lora";
inline constexpr llvm::StringLiteral otherDropping = "transformer.other_dropping"; // its field
inline constexpr llvm::StringLiteral tokenizer = "transformer.tokenizer";
inline constexpr llvm::StringLiteral generation = "transformer.generation";
} // namespace attr

/// Static width (last dimension) of a ranked tensor value.
int64_t widthOf(Value value);

/// Verifies gamma, beta and the formula of a norm on rows of `width`; errors
/// name the operand.
LogicalResult verifyNorm(Operation *op, int64_t width, Value gamma, Value beta, NormAttr norm);

/// The same for an RMS norm.
LogicalResult verifyRmsNorm(Operation *op, int64_t width, Value gamma, NormAttr norm);

/// Verifies the shape of a `position_bias`, which may be null: `[num_heads]` or
/// `[num_heads, P]` with an odd P.
LogicalResult verifyPositionBias(Operation *op, Value bias, int64_t numHeads);

/// Whether labels are classes, which label smoothing is for.
constexpr bool labelsClasses(ObjectiveKind kind) {
  return kind != ObjectiveKind::MultiLabel && kind != ObjectiveKind::Regression &&
         kind != ObjectiveKind::Span && kind != ObjectiveKind::ReplacedToken;
}

/// Verifies that a rate of dropout is in [0, 1).
LogicalResult verifyDropout(llvm::function_ref<InFlightDiagnostic()> emitError,
                            const llvm::APFloat &rate);

/// Verifies that `value`, called `what` in the error, has the width `expected`.
LogicalResult verifyWidth(Operation *op, llvm::StringRef what, Value value, int64_t expected);

/// Verifies a linear layer's shapes. `bias` may be null.
LogicalResult verifyLinear(Operation *op, llvm::StringRef what, int64_t inputWidth, Value weight,
                           Value bias, WeightLayout layout, int64_t &outputWidth);

} // namespace mlir::transformer

#endif // DIALECT_TRANSFORMERDIALECT_H
