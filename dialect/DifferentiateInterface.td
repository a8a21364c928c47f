//===- DifferentiateInterface.td - the backward of an op ----------------*- tablegen -*-===//

#ifndef DIALECT_DIFFERENTIATEINTERFACE_TD
#define DIALECT_DIFFERENTIATEINTERFACE_TD

include "mlir/IR/OpBase.td"

/// The dialect's ops that a loss may depend on implement it beside their
/// definition; upstream's get it from `registerDifferentiation`.
def Transformer_DifferentiateOpInterface : OpInterface<"DifferentiateOpInterface"> {
  let cppNamespace = "::mlir::transformer";
  let description = [{
    Builds the ops that compute the gradients of a scalar with regard to an op's
    operands from those with regard to its results (reverse mode).
  }];
  let methods = [
    InterfaceMethod<[{
        Sets `of_operands[i]` to the gradient of operand i, of its type; it stays null where
        nothing flows back: ids, sequences, tables of positions (an error where a parameter does).
        `of_results[i]` is null where the scalar does not depend on result i; one at least is not.
        Fails, with an error at the op, for what has no backward.
      }],
      "::llvm::LogicalResult", "buildGradients",
      (ins "::mlir::ImplicitLocOpBuilder &":$b, "::mlir::ValueRange":$of_results,
           "::llvm::MutableArrayRef<::mlir::Value>":$of_operands)>
  ];
}

#endif // DIALECT_DIFFERENTIATEINTERFACE_TD
