// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %k2: tensor<?x4xf32>, %seq: !transformer.sequences, %mseq: !transformer.sequences, %f: f32) {
  // CHECK: transformer.attention %{{.*}}, %{{.*}}, %{{.*}} sequences(%{{.*}}) {num_heads = 2 : i64, scale = 5.000000e-01 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %0 = transformer.attention %q, %k, %k sequences(%seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention %{{.*}} sequences(%{{.*}}) scale_factor(%{{.*}}) {causal, num_heads = 2 : i64
  %1 = transformer.attention %q, %k, %k sequences(%seq) scale_factor(%f) {num_heads = 2 : i64, scale = 0.5 : f64, causal} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: transformer.attention %{{.*}} sequences(%[[S:.*]]) memory(%{{.*}}) {num_heads = 4 : i64, num_kv_heads = 2 : i64
  %2 = transformer.attention %q, %k2, %k2 sequences(%seq) memory(%mseq) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}
