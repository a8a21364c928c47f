// An embedding is normalised alone and as a part of a sum, whose fusion leaves it one reader.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
transformer.parameter @places : tensor<60x32xf32>
transformer.parameter @b : tensor<32xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %b = transformer.get_parameter @b : tensor<32xf32>
  %p = transformer.get_parameter @places : tensor<60x32xf32>
  %e = transformer.embedding %i, %t : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %f = transformer.embedding %i, %p : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %m = transformer.layer_norm %e, %b, %b norm<eps = 1.0e-5> : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<?x32xf32>
  %S = arith.addf %e, %f : tensor<?x32xf32>
  %n = transformer.layer_norm %S, %b, %b norm<eps = 1.0e-5> : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32> -> tensor<?x32xf32>
  %z = arith.addf %m, %n : tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
