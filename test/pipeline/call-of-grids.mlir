// A layer from padded inputs to packed rows: its result has a row for every token, not for every sequence.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
func.func private @encode(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %t: tensor<60x32xf32>) -> tensor<?x32xf32> {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %t : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  return %x : tensor<?x32xf32>
}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %y = call @encode(%ids, %mask, %t) : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<60x32xf32>) -> tensor<?x32xf32>
  %z = transformer.activation relu %y : tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
