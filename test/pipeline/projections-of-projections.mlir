// The first projections can only be merged once those of the second attention have been.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
transformer.parameter @w0 : tensor<32x32xf32>
transformer.parameter @w1 : tensor<32x32xf32>
transformer.parameter @w2 : tensor<32x32xf32>
transformer.parameter @w3 : tensor<32x32xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %w0 = transformer.get_parameter @w0 : tensor<32x32xf32>
  %q = transformer.linear %x, %w0 out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %w1 = transformer.get_parameter @w1 : tensor<32x32xf32>
  %r = transformer.linear %q, %w1 out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %w2 = transformer.get_parameter @w2 : tensor<32x32xf32>
  %k = transformer.linear %x, %w2 out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %a = transformer.attention %q, %k, %x sequences(%s, %s) {num_heads = 1 : i64, scale = 0.2 : f64} : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %w3 = transformer.get_parameter @w3 : tensor<32x32xf32>
  %u = transformer.linear %q, %w3 out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %b = transformer.attention %r, %u, %x sequences(%s, %s) {num_heads = 1 : i64, scale = 0.2 : f64} : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %z = arith.addf %a, %b : tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
