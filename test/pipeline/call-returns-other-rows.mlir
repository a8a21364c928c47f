// A layer whose result has the rows of its second argument, of which there are more than of the first.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
func.func private @layer(%x: tensor<?x32xf32>, %m: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = transformer.activation tanh %m : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>},
                   %other: tensor<?x?xi64> {transformer.name = "decoder_input_ids", transformer.range = array<i64: 0, 60>, transformer.dims = ["batch", "target"]},
                   %keep: tensor<?x?xi64> {transformer.name = "decoder_keep", transformer.default = #transformer.default<greater, "decoder_input_ids", 45>, transformer.dims = ["batch", "target"]})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %j, %u = transformer.pack_tokens(%other) mask(%keep) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %few = transformer.embedding %j, %t : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %y = call @layer(%few, %x) : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %z = transformer.activation tanh %y : tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
