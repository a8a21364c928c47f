//===- WeightFormat.td - numbers that hold weights ----------------------*- tablegen -*-===//

#ifndef DIALECT_WEIGHTFORMAT_TD
#define DIALECT_WEIGHTFORMAT_TD

include "mlir/IR/EnumAttr.td"

def Transformer_WeightFormatAttr : I32EnumAttr<"WeightFormat", "numbers that hold a linear layer's weight or rows", [
  I32EnumAttrCase<"Bf16", 0, "bf16">,
  I32EnumAttrCase<"Int8", 1, "int8">, // a scale for each output
  I32EnumAttrCase<"Int4", 2, "int4">, // a scale for each output and group of 32 inputs
  I32EnumAttrCase<"F16", 3, "f16">,
  I32EnumAttrCase<"Tf32", 4, "tf32">  // held as f32
]> {
  let cppNamespace = "::mlir::transformer";
}

#endif // DIALECT_WEIGHTFORMAT_TD
