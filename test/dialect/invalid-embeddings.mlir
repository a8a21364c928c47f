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
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t, %t) norm(%g, %g) <eps = 0.0> : (tensor<?xi64>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>, %t: tensor<9x3xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{expected a table of width 4, found 3}}
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t) norm(%g, %g) <eps = 0.0> : (tensor<?xi64>, tensor<9x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%i: tensor<?xi64>, %t: tensor<9x4xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{expected gamma of width 4, found 3}}
  %0 = transformer.embedding_layer_norm ids(%i) tables(%t) norm(%g, %g) <eps = 0.0> : (tensor<?xi64>, tensor<9x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi64>) {
  // expected-error @below {{expected a table of even width, found 5}}
  %0 = transformer.rotary_table %p : tensor<?xi64> -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi64>) {
  // expected-error @below {{expected theta > 0, found 0}}
  %0 = transformer.rotary_table %p {theta = 0.0 : f64} : tensor<?xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%p: tensor<?xi64>) {
  // expected-error @below {{expected 2 frequencies, found 4}}
  %0 = transformer.rotary_table %p frequencies [1.0, 0.5, 0.25, 0.125] : tensor<?xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %t: tensor<?x4xf32>) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  %0 = transformer.rotary_embedding %x, %t {num_heads = 3 : i64} : tensor<?x8xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %t: tensor<?x4xf32>) {
  // expected-error @below {{expected a table of an even width of at most 2, found 4}}
  %0 = transformer.rotary_embedding %x, %t {num_heads = 4 : i64} : tensor<?x8xf32>, tensor<?x4xf32>
  return
}
