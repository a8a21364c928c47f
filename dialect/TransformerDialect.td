//===- TransformerDialect.td - the transformer dialect ------------------*- tablegen -*-===//

#ifndef DIALECT_TRANSFORMERDIALECT_TD
#define DIALECT_TRANSFORMERDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Transformer_Dialect : Dialect {
  let name = "transformer";
  let cppNamespace = "::mlir::transformer";
  let summary = "Transformer models on packed tokens";
  let description = [{
    Holds a Transformer model definition: named parameters, attention,
    normalisation, feed-forward networks and what belongs to them.

    Inside a model, activations are `tensor<?xWxf32>`: one row a token, the
    padding dropped, `W` static. A `!transformer.sequences` value says which
    rows belong to which sequence; only `attention` and the ops at the border
    (`pack_tokens`, `unpack_tokens`, `first_token`) look at it.

    Entry points are `func.func` with the unit attribute `transformer.entry`.
    Their arguments and results carry `transformer.name` (Hugging Face's
    `forward()` and output names); arguments may carry `transformer.default`
    (how a missing input is made), `transformer.range` (`array<i64: low, high>`,
    every value in `[low, high)` or `transformer.ignored`), `transformer.max_length` and, like results,
    `transformer.dims` (names of the dynamic dimensions; `["batch", "sequence"]`
    if absent). `transformer.below = "capacity"` bounds every value of an input by a
    size of that name. An argument with `transformer.state = "name"` is kept from
    call to call: one result has the same attribute and type, the argument's updated
    self, which takes its place in memory. An entry point may carry `transformer.objective`,
    what it is trained for. A `func.call` may carry `transformer.scope`, the layer's name in
    profiles and error messages.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

class Transformer_Op<string mnemonic, list<Trait> traits = []>
    : Op<Transformer_Dialect, mnemonic, traits>;

#endif // DIALECT_TRANSFORMERDIALECT_TD
