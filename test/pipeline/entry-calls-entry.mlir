// An entry point that calls another one.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
func.func @pooled(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x32xf32> {transformer.name = "pooled", transformer.dims = ["batch"]}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %f = transformer.first_token %x, %s : tensor<?x32xf32> -> tensor<?x32xf32>
  return %f : tensor<?x32xf32>
}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x32xf32> {transformer.name = "y", transformer.dims = ["batch"]}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %y = call @pooled(%ids, %mask) : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x32xf32>
  %z = transformer.activation relu %y : tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
