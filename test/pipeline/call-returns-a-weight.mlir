// A layer that returns rows and a matrix of a static size that it was given.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
transformer.parameter @w : tensor<32x32xf32>
transformer.parameter @v : tensor<32x32xf32>
func.func private @layer(%x: tensor<?x32xf32>, %w: tensor<32x32xf32>) -> (tensor<?x32xf32>, tensor<32x32xf32>) {
  %y = transformer.activation tanh %x : tensor<?x32xf32>
  return %y, %w : tensor<?x32xf32>, tensor<32x32xf32>
}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %w = transformer.get_parameter @w : tensor<32x32xf32>
  %v = transformer.get_parameter @v : tensor<32x32xf32>
  %h = transformer.linear %x, %v out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %y, %k = call @layer(%h, %w) : (tensor<?x32xf32>, tensor<32x32xf32>) -> (tensor<?x32xf32>, tensor<32x32xf32>)
  %z = transformer.linear %y, %k out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
