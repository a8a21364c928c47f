// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%i: tensor<?xi64>, %t: tensor<9x4xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.embedding %i, %t : tensor<?xi64>, tensor<9x4xf32> -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>) {
  // expected-error @below {{expected max_positions >= 1, found 0}}
  %0 = transformer.sinusoidal_position %i halves max_positions 0 : tensor<?xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{must be 2D tensor of f32 with a static shape}}
  %0 = transformer.sinusoidal_table halves : tensor<?x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>, %t: tensor<9x4xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{expected one table for each of 1 ids (at least one), found 2}}
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t, %t) norm(%g, %g) {eps = 0.0 : f64} : (tensor<?xi64>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>, %t: tensor<9x3xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{expected a table of width 4, found 3}}
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t) norm(%g, %g) {eps = 0.0 : f64} : (tensor<?xi64>, tensor<9x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>, %t: tensor<9x4xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{expected gamma of width 4, found 3}}
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t) norm(%g, %g) {eps = 0.0 : f64} : (tensor<?xi64>, tensor<9x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x4xf32>
  return
}
