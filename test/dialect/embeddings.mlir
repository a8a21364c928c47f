// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @embeddings
func.func @embeddings(%ids: tensor<?xi64>, %table: tensor<9x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // The default scale is not printed.
  // CHECK: transformer.embedding %{{.*}}, %{{.*}} : tensor<?xi64>, tensor<9x4xf32> -> tensor<?x4xf32>
  %0 = transformer.embedding %ids, %table : tensor<?xi64>, tensor<9x4xf32> -> tensor<?x4xf32>
  // CHECK: transformer.embedding %{{.*}}, %{{.*}} {scale = 2.000000e+00 : f64}
  %1 = transformer.embedding %ids, %table {scale = 2.0 : f64} : tensor<?xi64>, tensor<9x4xf32> -> tensor<?x4xf32>
  // CHECK: transformer.sinusoidal_table interleaved : tensor<7x4xf32>
  %2 = transformer.sinusoidal_table interleaved : tensor<7x4xf32>
  // CHECK: transformer.sinusoidal_table halves : tensor<7x5xf32>
  %3 = transformer.sinusoidal_table halves : tensor<7x5xf32>
  // CHECK: transformer.sinusoidal_position %{{.*}} halves max_positions 7 : tensor<?xi64> -> tensor<?x4xf32>
  %4 = transformer.sinusoidal_position %ids halves max_positions 7 : tensor<?xi64> -> tensor<?x4xf32>
  // CHECK: transformer.embedding_layer_norm ids(%[[I:.*]], %[[I]]) tables(%[[T:.*]], %[[T]]) norm(%{{.*}}, %{{.*}}) <eps = {{.*}}, unbiased>
  %5 = transformer.embedding_layer_norm ids(%ids, %ids) tables(%table, %table) norm(%g, %b) <eps = 1.0e-12, unbiased>
      : (tensor<?xi64>, tensor<?xi64>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func @rotary
func.func @rotary(%positions: tensor<?xi64>, %x: tensor<?x12xf32>) {
  // The default theta is not printed.
  // CHECK: %[[T:.*]] = transformer.rotary_table %{{.*}} : tensor<?xi64> -> tensor<?x4xf32>
  %0 = transformer.rotary_table %positions : tensor<?xi64> -> tensor<?x4xf32>
  // CHECK: transformer.rotary_table %{{.*}} frequencies [5.000000e-01, 2.500000e-01] {scale = 1.250000e+00 : f64} : tensor<?xi64> -> tensor<?x4xf32>
  %1 = transformer.rotary_table %positions frequencies [0.5, 0.25] {scale = 1.25 : f64} : tensor<?xi64> -> tensor<?x4xf32>
  // CHECK: transformer.rotary_embedding %{{.*}}, %[[T]] {num_heads = 2 : i64} : tensor<?x12xf32>, tensor<?x4xf32>
  %2 = transformer.rotary_embedding %x, %0 {num_heads = 2 : i64} : tensor<?x12xf32>, tensor<?x4xf32>
  return
}
