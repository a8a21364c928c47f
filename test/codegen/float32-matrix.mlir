// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-pack-linear --transformer-pass-destinations
// DEFINE: %{buffers} = %{pack} --canonicalize --cse --transformer-cpu-tile --transformer-cpu-to-buffers
// RUN: %{pack} | FileCheck %s
// RUN: %{buffers} | FileCheck %s --check-prefix=BUFFERS --implicit-check-not='"copy"'
// RUN: %{buffers} --transformer-cpu-to-llvm | FileCheck %s --check-prefix=LLVM --implicit-check-not=transformer_cpu.
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=sapphirerapids/no-amx --transformer-cpu-pack-linear | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: i32
// WITHOUT-NOT: matri

// Of a weight that each call gets: float32 is three bfloat16, and six of their nine products are
// summed, small ones first.
// CHECK: #[[X0:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d0, d3)>
// CHECK: #[[X1:.*]] = affine_map<(d0, d1, d2, d3) -> (1, d0, d3)>
// CHECK: #[[X2:.*]] = affine_map<(d0, d1, d2, d3) -> (2, d0, d3)>
// CHECK: #[[W0:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, 0, d3, d2)>
// CHECK: #[[W1:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, 1, d3, d2)>
// CHECK: #[[W2:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, 2, d3, d2)>
// CHECK-LABEL: @linear(
// CHECK: transformer_cpu.bfloat16_rows ins({{.*}}) outs({{.*}}) : {{.*}} -> tensor<?x2x3x16x16xi32>
// CHECK: transformer_cpu.pack_weight in_out ins({{.*}}) outs({{.*}}) : {{.*}} -> tensor<2x3x32x32xi32>
// CHECK: linalg.generic {indexing_maps = [#[[X0]], #[[X1]], #[[X2]], #[[W0]], #[[W1]], #[[W2]], #{{.*}}]{{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32-matrix">}
// CHECK: ^bb0(%[[X0:.*]]: i32, %[[X1:.*]]: i32, %[[X2:.*]]: i32, %[[W0:.*]]: i32, %[[W1:.*]]: i32, %[[W2:.*]]: i32, %[[S:.*]]: f32):
// CHECK-NEXT: %[[S1:.*]] = transformer_cpu.dot_bfloat16 %[[W0]], %[[X2]], %[[S]]
// CHECK-NEXT: %[[S2:.*]] = transformer_cpu.dot_bfloat16 %[[W0]], %[[X1]], %[[S1]]
// CHECK-NEXT: %[[S3:.*]] = transformer_cpu.dot_bfloat16 %[[W1]], %[[X1]], %[[S2]]
// CHECK-NEXT: %[[S4:.*]] = transformer_cpu.dot_bfloat16 %[[W1]], %[[X0]], %[[S3]]
// CHECK-NEXT: %[[S5:.*]] = transformer_cpu.dot_bfloat16 %[[W2]], %[[X0]], %[[S4]]
// CHECK-NEXT: %[[S6:.*]] = transformer_cpu.dot_bfloat16 %[[W0]], %[[X0]], %[[S5]]
// CHECK-NEXT: linalg.yield %[[S6]]

// A part is loaded where the product before had another. Beside each product eight of the next
// step's lines are fetched: this step's place, or 0 behind the last one.
// BUFFERS-LABEL: @linear(
// BUFFERS: scf.for %[[S:.*]] = %c0 to %c32 step %c16 {
// BUFFERS: %[[BEHIND:.*]] = arith.addi %[[S]], %c16
// BUFFERS: %[[LAST:.*]] = arith.cmpi eq, %[[BEHIND]], %c32
// BUFFERS: %[[NEXT:.*]] = arith.select %[[LAST]], %c0, %[[BEHIND]]
// BUFFERS: %[[NEXT1:.*]] = arith.addi %[[NEXT]], %c1 : index
// BUFFERS: transformer_cpu.load_matrix 6, %[[PANEL:.*]][%c0, %c0, %[[S]], %c0]
// BUFFERS-NEXT: transformer_cpu.load_matrix 7, %[[PANEL]][%c0, %c0, %[[S]], %c16]
// BUFFERS-NEXT: transformer_cpu.load_matrix 4, %[[ROWS:.*]][%{{.*}}, %{{.*}}, %c2, %c0, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS-NEXT: memref.prefetch %[[PANEL]][%c0, %c0, %[[NEXT]], %c0], read, locality<3>
// BUFFERS-NEXT: memref.prefetch %[[PANEL]][%c0, %c0, %[[NEXT1]], %c0], read, locality<3>
// BUFFERS-COUNT-6: memref.prefetch %[[PANEL]][%c0, %c0, %{{.*}}, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 1, 4, 7
// BUFFERS-COUNT-8: memref.prefetch %[[PANEL]][%c0, %c0, %{{.*}}, %c0]
// BUFFERS: transformer_cpu.load_matrix 5, %[[ROWS]][%{{.*}}, %{{.*}}, %c2, %c0, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 2, 5, 6
// BUFFERS-COUNT-8: memref.prefetch %[[PANEL]][%c0, %c0, %{{.*}}, %c16]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 3, 5, 7
// BUFFERS-COUNT-8: memref.prefetch %[[PANEL]][%c0, %c0, %{{.*}}, %c16]
// BUFFERS-NEXT: transformer_cpu.load_matrix 4, %[[ROWS]][%{{.*}}, %{{.*}}, %c1, %c0, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS-COUNT-8: memref.prefetch %[[ROWS]][%{{.*}}, %{{.*}}, %c2, %c{{.*}}, %c0]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 1, 4, 7
// BUFFERS: transformer_cpu.load_matrix 6, %[[PANEL]][%c0, %c1, %[[S]], %c0]
// BUFFERS-NEXT: transformer_cpu.load_matrix 7, %[[PANEL]][%c0, %c1, %[[S]], %c16]
// BUFFERS-NEXT: transformer_cpu.add_matrix_product 0, 4, 6
// BUFFERS: transformer_cpu.linear<loop, "f32-matrix", steps = 32>
// LLVM: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
func.func @linear(%x: tensor<?x41xf32>, %w: tensor<41x64xf32>) -> tensor<?x64xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x41xf32>, tensor<41x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: @merged(
// CHECK: transformer_cpu.pack_weight out_in {{.*}} -> tensor<2x3x32x32xi32>
func.func @merged(%x: tensor<?x41xf32>, %q: tensor<32x41xf32>, %k: tensor<32x41xf32>) -> tensor<?x64xf32> {
  %w = tensor.concat dim(0) %q, %k : (tensor<32x41xf32>, tensor<32x41xf32>) -> tensor<64x41xf32>
  %0 = transformer.linear %x, %w out_in : tensor<?x41xf32>, tensor<64x41xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: @gradient(
// CHECK: transformer_cpu.weight_gradient matrices ins(%{{.*}}, %{{.*}}) outs({{.*}}) : (tensor<?x40xf32>, tensor<?x20xf32>, tensor<40x20xf32>, tensor<2x?x3x32x16xi32>, tensor<1x3x?x32xi32>)
func.func @gradient(%x: tensor<?x40xf32>, %dy: tensor<?x20xf32>) -> tensor<40x20xf32> {
  %0 = transformer.linear_weight_gradient %x, %dy in_out : tensor<?x40xf32>, tensor<?x20xf32> -> tensor<40x20xf32>
  return %0 : tensor<40x20xf32>
}

// Rows that pass once a task stay in the second-level cache: a long sum is in parts.
// CHECK-LABEL: @long(
// CHECK: tensor.extract_slice %{{.*}} [%{{.*}}, 768] [1, 1]
// CHECK: transformer_cpu.pack_weight in_out {{.*}} -> tensor<2x3x384x32xi32>
// CHECK: scf.for {{.*}} = %c768 to %c3840 step %c1536
func.func @long(%x: tensor<?x4608xf32>, %w: tensor<4608x64xf32>) -> tensor<?x64xf32> {
  %0 = transformer.linear %x, %w in_out : tensor<?x4608xf32>, tensor<4608x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
