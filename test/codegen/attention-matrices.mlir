// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-pack-linear | FileCheck %s --check-prefix=PACKED --implicit-check-not=quantize_rows
// DEFINE: %{nests} = --transformer-to-linalg-on-tensors --transformer-cpu-pack-linear --transformer-pass-destinations --transformer-bufferize --canonicalize --cse --transformer-cpu-emit-nests --canonicalize --cse
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=sapphirerapids %{nests} | FileCheck %s
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=sapphirerapids/no-amx %{nests} | FileCheck %s --check-prefix=WITHOUT --implicit-check-not=matri

// Attention rounds what it multiplies, so nothing does before it.
// PACKED-LABEL: @attend(
// PACKED-SAME: %[[Y:[^:]*]]: tensor<?x96xf32>
// PACKED-DAG: %[[Q:.*]] = tensor.extract_slice %[[Y]][0, 0]
// PACKED-DAG: %[[K:.*]] = tensor.extract_slice %[[Y]][0, 32]
// PACKED: transformer_kernel.attention ins(%[[Q]], %[[K]],
// PACKED-SAME: options<bf16>

// Words of keys, values, queries and probabilities, the strip of 32 rows of scores, and two products of registers.
// CHECK-LABEL: @attend(
// CHECK-DAG: memref.alloca() {{.*}} : memref<4x16x32xi32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<1x64x32xi32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<2x1x16x16xi32>
// CHECK-DAG: %[[P:.*]] = memref.alloca() {{.*}} : memref<2x4x16x16xi32>
// CHECK-DAG: %[[STRIP:.*]] = memref.alloca() {{.*}} : memref<32x128xf32>
// CHECK: transformer_cpu.configure_matrices
// CHECK: transformer_cpu.add_matrix_product 3, 5, 7
// CHECK: transformer_cpu.store_matrix 3, %[[STRIP]]
// CHECK: math.ceil
// CHECK: arith.truncf %{{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: transformer_cpu.load_matrix 4, %[[P]]
// CHECK: transformer_cpu.add_matrix_product 3, 5, 7
// CHECK: transformer_cpu.release_matrices
// WITHOUT-LABEL: @attend(
// WITHOUT: vector.fma
func.func @attend(%y: tensor<?x96xf32>, %seq: !transformer.sequences) -> tensor<?x32xf32> {
  %r = transformer.quantize_rows bf16 %y : tensor<?x96xf32>
  %q, %k, %v = transformer.split %r : tensor<?x96xf32> -> tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) options<bf16> {num_heads = 2 : i64, scale = 0.25 : f64}
      : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %a : tensor<?x32xf32>
}
