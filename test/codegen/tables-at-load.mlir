// RUN: transformer-opt %s --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack | FileCheck %s

// A table of sinusoids depends on nothing: it is made once, when weights are loaded.
// CHECK: transformer.prepared @sinusoidal_table = @prepare_0() : tensor<60x32xf32>
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: sinusoidal_table {{halves|interleaved}}
// CHECK: transformer.get_parameter @sinusoidal_table
// CHECK-LABEL: func.func private @prepare_0(
// CHECK: transformer.sinusoidal_table interleaved
transformer.parameter @table : tensor<60x32xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x32xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %p = transformer.sinusoidal_position %i interleaved max_positions 60 : tensor<?xi64> -> tensor<?x32xf32>
  %z = arith.addf %x, %p : tensor<?x32xf32>
  %g = transformer.unpack_tokens %z, %s : tensor<?x32xf32> -> tensor<?x?x32xf32>
  return %g : tensor<?x?x32xf32>
}
