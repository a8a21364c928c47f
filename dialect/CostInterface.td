//===- CostInterface.td - what an op costs ------------------------------*- tablegen -*-===//

#ifndef DIALECT_COSTINTERFACE_TD
#define DIALECT_COSTINTERFACE_TD

include "mlir/IR/OpBase.td"

/// Every op of the dialect that has results implements it: without methods of
/// its own an op multiplies no matrices and its rows are those of its operands.
def Transformer_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::transformer";
  let description = [{
    What a call of an op costs, as far as its operands tell: the floating-point
    operations of its matrix products. The rest is small beside them.
  }];
  let methods = [
    InterfaceMethod<"Appends the op's matrix products.",
                    "void", "getCosts", (ins "::llvm::SmallVectorImpl<::mlir::transformer::Cost> &":$costs),
                    "", "return;">,
    InterfaceMethod<"What the rows of its results are, or the sequences.",
                    "::mlir::transformer::RowOrigin", "getRowOrigin", (ins),
                    "", "return ::mlir::transformer::RowOrigin::Operands;">
  ];
}

#endif // DIALECT_COSTINTERFACE_TD
