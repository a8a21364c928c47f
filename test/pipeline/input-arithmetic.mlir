// Arithmetic on an input, which the caller uses again.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: transformer-compile %s -o %t/program
// RUN: %t/program bench --weights %t/model.safetensors --inputs %t/inputs.safetensors --repeat 2

transformer.parameter @table : tensor<120x32xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %twice = arith.addi %ids, %ids : tensor<?x?xi64>
  %i, %s = transformer.pack_tokens(%twice) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<120x32xf32>
  %x = transformer.embedding %i, %t : tensor<?xi64>, tensor<120x32xf32> -> tensor<?x32xf32>
  %g = transformer.unpack_tokens %x, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
