//===- EvaluateInterface.td - what an op computes -----------------------*- tablegen -*-===//

#ifndef DIALECT_REFERENCE_EVALUATEINTERFACE_TD
#define DIALECT_REFERENCE_EVALUATEINTERFACE_TD

include "mlir/IR/OpBase.td"

def Reference_EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::mlir::transformer::reference";
  let description = [{
    The op's part of the interpreter. The dialect's ops do not know the
    interpreter: `registerEvaluation` attaches it, to each that has an overload of
    `evaluate` in Operations.h.
  }];
  let methods = [
    InterfaceMethod<"Reads operands from the frame and sets the results.",
                    "::llvm::LogicalResult", "evaluate",
                    (ins "::mlir::transformer::reference::Frame &":$frame)>
  ];
}

#endif // DIALECT_REFERENCE_EVALUATEINTERFACE_TD
