// RUN: transformer-opt %s --transformer-fuse --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=znver4 | FileCheck %s

// Of bfloat16 a panel is half as large. Where one stays in no cache, parts are half as long as
// could be; where it does, there are none.
// CHECK-LABEL: @bfloat16_rows(
// CHECK: scf.for {{.*}} = %c2048 to %c12288 step %c2048
// CHECK: transformer_cpu.pack_weight in_out {{.*}} -> tensor<2x512x32xi32>
// CHECK: scf.yield
// CHECK-LABEL: @in_a_cache(
// CHECK-NOT: scf.for
// CHECK: transformer_cpu.pack_weight in_out {{.*}} -> tensor<2x1000x32xi32>
// CHECK-NOT: transformer_cpu.pack_weight
// CHECK: return
func.func @bfloat16_rows(%w: tensor<13097x48xf32>, %x: tensor<?x13097xf32>) -> tensor<?x48xf32> {
  %r = transformer.quantize_rows bf16 %x : tensor<?x13097xf32>
  %q = transformer.quantize_weight bf16 %w in_out : tensor<13097x48xf32>
  %0 = transformer.linear %r, %q in_out : tensor<?x13097xf32>, tensor<13097x48xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
func.func @in_a_cache(%w: tensor<2000x48xf32>, %x: tensor<?x2000xf32>) -> tensor<?x48xf32> {
  %r = transformer.quantize_rows bf16 %x : tensor<?x2000xf32>
  %q = transformer.quantize_weight bf16 %w in_out : tensor<2000x48xf32>
  %0 = transformer.linear %r, %q in_out : tensor<?x2000xf32>, tensor<2000x48xf32> -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
