// DEFINE: %{arch} = cooperlake/no-winograd
// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=%{arch} --transformer-cpu-pack-linear --transformer-pass-destinations
// RUN: %{pack} | FileCheck %s --implicit-check-not=transformer.quantize
// RUN: %{pack} --canonicalize --cse --transformer-cpu-tile --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS --implicit-check-not=dot_bfloat16
// REDEFINE: %{arch} = x86-64-v4
// RUN: not %{pack} 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: {{.*}}multiplies bfloat16, for which the target has no instruction

// A step is a word of two features; of an odd number the last word has one.
// CHECK-LABEL: @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x41xf32>, %[[W:[^:]*]]: tensor<64x41xf32>
// CHECK: transformer_cpu.bfloat16_rows ins(%[[X]]) {{.*}} -> tensor<?x21xi32>
// CHECK: transformer_cpu.pack_weight out_in ins(%[[W]]) {{.*}} -> tensor<2x21x32xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME: transformer_cpu.linear = #transformer_cpu.linear<contraction, "bf16-pairs">
// CHECK: transformer_cpu.dot_bfloat16 %{{.*}}, %{{.*}}, %{{.*}} : i32, f32
// BUFFERS-LABEL: @linear(
// BUFFERS: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
func.func @linear(%x: tensor<?x41xf32>, %w: tensor<64x41xf32>) -> tensor<?x64xf32> {
  %r = transformer.quantize_rows bf16 %x : tensor<?x41xf32>
  %q = transformer.quantize_weight bf16 %w out_in : tensor<64x41xf32>
  %0 = transformer.linear %r, %q out_in : tensor<?x41xf32>, tensor<64x41xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Over the tokens: a word has two of them.
// CHECK-LABEL: @gradient(
// CHECK: arith.ceildivui
// CHECK: transformer_cpu.weight_gradient ins(%{{.*}}, %{{.*}}) outs({{.*}}) : (tensor<?x40xf32>, tensor<?x20xf32>, tensor<40x20xf32>, tensor<5x?x8xi32>, tensor<1x?x32xi32>)
// BUFFERS-LABEL: @gradient(
// BUFFERS: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @gradient(%x: tensor<?x40xf32>, %dy: tensor<?x20xf32>) -> tensor<40x20xf32> {
  %a = transformer.quantize_rows bf16 %x : tensor<?x40xf32>
  %b = transformer.quantize_rows bf16 %dy : tensor<?x20xf32>
  %0 = transformer.linear_weight_gradient %a, %b in_out : tensor<?x40xf32>, tensor<?x20xf32> -> tensor<40x20xf32>
  return %0 : tensor<40x20xf32>
}

// The sum of rows that a product reads is of its words.
// CHECK-LABEL: @bias(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x41xf32>
// CHECK: %[[WORDS:.*]] = transformer_cpu.bfloat16_rows ins(%[[DY]]) {{.*}} -> tensor<?x21xi32>
// CHECK: transformer_kernel.sum_rows ins(%[[WORDS]]) outs({{.*}}) : (tensor<?x21xi32>, tensor<41xf32>)
// BUFFERS-LABEL: @bias(
// BUFFERS: arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
func.func @bias(%dy: tensor<?x41xf32>) -> tensor<41xf32> {
  %r = transformer.quantize_rows bf16 %dy : tensor<?x41xf32>
  %0 = transformer.sum_rows %r : tensor<?x41xf32> -> tensor<41xf32>
  return %0 : tensor<41xf32>
}
