// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %k2: tensor<?x4xf32>, %seq: !transformer.sequences, %mseq: !transformer.sequences, %f: f32) {
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} sequences(%{{.*}}) {num_heads = 2 : i64, scale = 5.000000e-01 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %0 = transformer.attention %q, %k, %k sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention %{{.*}} sequences(%{{.*}}) scale_factor(%{{.*}}) options<causal> {num_heads = 2 : i64
  %1 = transformer.attention %q, %k, %k sequences(%seq, %seq) scale_factor(%f) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention %{{.*}} sequences(%[[S:.*]], %{{.*}}) {num_heads = 4 : i64, num_kv_heads = 2 : i64
  %2 = transformer.attention %q, %k2, %k2 sequences(%seq, %mseq) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @options
func.func @options(%q: tensor<?x8xf32>, %seq: !transformer.sequences, %table: tensor<2x5xf32>, %slopes: tensor<2xf32>) {
  // CHECK: transformer.attention {{.*}} options<window = 7> {num_heads
  %0 = transformer.attention %q, %q, %q sequences(%seq, %seq) options<window = 7> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} position_bias(%{{.*}} : tensor<2x5xf32>) options<causal, window = 7> {num_heads
  %1 = transformer.attention %q, %q, %q sequences(%seq, %seq) position_bias(%table : tensor<2x5xf32>) options<window = 7, causal> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} options<f16> {num_heads
  %h = transformer.attention %q, %q, %q sequences(%seq, %seq) options<f16> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} options<causal, bf16> {num_heads
  %4 = transformer.attention %q, %q, %q sequences(%seq, %seq) options<bf16, causal> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} position_bias(%{{.*}} : tensor<2xf32>) {num_heads = {{.*}} -> tensor<?x8xf32>, tensor<?x2xf32>
  %2, %3 = transformer.attention %q, %q, %q sequences(%seq, %seq) position_bias(%slopes : tensor<2xf32>) options<> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>, tensor<?x2xf32>
  return
}

// CHECK-LABEL: func @disentangled
func.func @disentangled(%q: tensor<?x8xf32>, %seq: !transformer.sequences, %table: tensor<6x8xf32>) {
  // CHECK: %[[C2P:.*]] = transformer.relative_scores %{{.*}}, %{{.*}} {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x12xf32>
  %c2p = transformer.relative_scores %q, %table {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x12xf32>
  // CHECK: transformer.attention {{.*}} query_scores(%[[C2P]] : tensor<?x12xf32>) key_scores(%[[C2P]] : tensor<?x12xf32>) columns [5, 3, 0] {num_heads
  %0 = transformer.attention %q, %q, %q sequences(%seq, %seq) query_scores(%c2p : tensor<?x12xf32>) key_scores(%c2p : tensor<?x12xf32>) columns [5, 3, 0] {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention {{.*}} key_scores(%[[C2P]] : tensor<?x12xf32>) columns [2] {num_heads
  %1 = transformer.attention %q, %q, %q sequences(%seq, %seq) key_scores(%c2p : tensor<?x12xf32>) columns [2] {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}
