// A layer with a name as the compiler makes it itself.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: sed 's/@forward.arena_bytes/@transformer.forward/' %s > %t/transformer.forward.mlir
// RUN: transformer-verify %t/transformer.forward.mlir --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: sed 's/@forward.arena_bytes/@tr_parallel_for/' %s > %t/tr_parallel_for.mlir
// RUN: transformer-verify %t/tr_parallel_for.mlir --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: sed 's/@forward.arena_bytes/@transformer_module/' %s > %t/transformer_module.mlir
// RUN: transformer-verify %t/transformer_module.mlir --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: sed 's/@forward.arena_bytes/@memcpy/' %s > %t/memcpy.mlir
// RUN: transformer-verify %t/memcpy.mlir --weights %t/model.safetensors --inputs %t/inputs.safetensors

transformer.parameter @table : tensor<60x32xf32>
func.func private @forward.arena_bytes(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = transformer.activation gelu %x : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %z = call @forward.arena_bytes(%x) : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
