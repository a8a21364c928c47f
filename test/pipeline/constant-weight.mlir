// Weights that are constants: one the same everywhere, one of numbers, which is packed at load like any other.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: transformer-verify %s --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: transformer-verify %s --arch native/winograd --weights %t/model.safetensors --inputs %t/inputs.safetensors
// RUN: transformer-compile %s -o - --emit packed --arch x86-64-v3/no-winograd | FileCheck %s

// CHECK: transformer.prepared @[[NAME:.*]] = @[[FUNCTION:.*]]() : tensor<1x2x16xf32>
// CHECK: func.func @forward
// CHECK: transformer.get_parameter @[[NAME]]
// CHECK: func.func private @[[FUNCTION]](
// CHECK-SAME: ) -> tensor<1x2x16xf32>
// CHECK: transformer_cpu.pack_weight

transformer.parameter @table : tensor<60x32xf32>
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x2xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %i, %s = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %t = transformer.get_parameter @table : tensor<60x32xf32>
  %x = transformer.embedding %i, %t {scale = 2.0 : f64} : tensor<?xi64>, tensor<60x32xf32> -> tensor<?x32xf32>
  %w = arith.constant dense<0.5> : tensor<32x32xf32>
  %z = transformer.linear %x, %w out_in : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %a, %b = transformer.split %z : tensor<?x32xf32> -> tensor<?x2xf32>, tensor<?x30xf32>
  %v = arith.constant dense<[[0.5, -0.25], [0.125, 1.5]]> : tensor<2x2xf32>
  %c = transformer.linear %a, %v out_in : tensor<?x2xf32>, tensor<2x2xf32> -> tensor<?x2xf32>
  %g = transformer.unpack_tokens %c, %s : tensor<?x2xf32> -> tensor<?x?x2xf32>
  return %g : tensor<?x?x2xf32>
}
