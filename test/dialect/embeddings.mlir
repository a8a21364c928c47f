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
  // CHECK: transformer.embedding_layer_norm ids(%[[I:.*]], %[[I]]) tables(%[[T:.*]], %[[T]]) norm(%{{.*}}, %{{.*}}) {eps = {{.*}} : f64, unbiased}
  %5 = transformer.embedding_layer_norm ids(%ids, %ids) tables(%table, %table) norm(%g, %b) {eps = 1.0e-12 : f64, unbiased}
      : (tensor<?xi64>, tensor<?xi64>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}
