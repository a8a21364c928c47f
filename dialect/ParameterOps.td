//===- ParameterOps.td - named parameters -------------------------------*- tablegen -*-===//

#ifndef DIALECT_PARAMETEROPS_TD
#define DIALECT_PARAMETEROPS_TD

include "dialect/CostInterface.td"
include "dialect/TransformerAttrs.td"
include "dialect/TransformerTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Transformer_ParameterOp : Transformer_Op<"parameter", [Symbol]> {
  let summary = "a named tensor of the checkpoint";
  let description = [{
    Declares a parameter under the checkpoint's own name, so that a module binds
    to an unmodified safetensors file and a trained one is written back under
    the same names. `aliases` are other names that checkpoints of the family use
    (a missing base-model prefix, `gamma` for `weight`), tried in order. A `frozen`
    one belongs to the checkpoint, but is not trained: it has no gradient.

    Shapes: static, float32 in the module (a file may hold F32, F16 or BF16).
    Error: a dynamic shape, a size of 0, an element type other than f32, an empty name.

    ```mlir
    transformer.parameter @"encoder.layer.0.output.dense.bias" : tensor<768xf32>
        init(#transformer.init<zeros>) aliases ["bert.encoder.layer.0.output.dense.bias"]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<Transformer_Weight>:$type,
                       OptionalAttr<Transformer_InitAttr>:$init,
                       OptionalAttr<StrArrayAttr>:$aliases,
                       UnitAttr:$frozen);
  let assemblyFormat = "(`frozen` $frozen^)? $sym_name `:` $type (`init` `(` $init^ `)`)? (`aliases` $aliases^)? attr-dict";
  let hasVerifier = 1;
}

def Transformer_PreparedOp : Transformer_Op<"prepared",
    [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor made once at load from parameters";
  let description = [{
    The result of calling `function` on `sources`, parameters or tensors that are
    prepared before it, when weights are loaded: merged projections, panels in the order that the register tile
    reads, constant tables (no sources). Made by `transformer-outline-prepared`;
    rarely written by hand.

    Error: an unknown function or source, a source that is prepared later,
    operand or result types that differ from the function's.

    ```mlir
    transformer.prepared @"layer.0.panels" = @prepare_0(@"layer.0.q.weight", @"layer.0.k.weight")
        : tensor<96x768x16xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$function,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "array of symbol references">:$sources,
                       TypeAttrOf<Transformer_Prepared>:$type);
  let assemblyFormat = "$sym_name `=` $function `` custom<SymbolList>($sources) `:` $type attr-dict";
}

def Transformer_GetParameterOp : Transformer_Op<"get_parameter",
    [Pure, Transformer_CostOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter or a prepared tensor";
  let description = [{
    Reads the tensor that the symbol names. The value does not change during a
    call of an entry point.

    Error: an unknown symbol, a result type other than the declared one.

    ```mlir
    %w = transformer.get_parameter @"pooler.dense.weight" : tensor<768x768xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs Transformer_Prepared:$result);
  let assemblyFormat = "$name `:` type($result) attr-dict";
}

#endif // DIALECT_PARAMETEROPS_TD
