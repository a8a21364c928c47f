// RUN: transformer-opt %s --transformer-cpu-lower-prepare -verify-diagnostics -split-input-file

func.func @f(%w: tensor<32x6xf32>, %y: tensor<2x3x16x2xf32>) -> tensor<2x3x16x2xf32> {
  // expected-error @below {{is not a weight in panels [N / NR, K, NR] of static sizes}}
  %0 = linalg.pack %w inner_dims_pos = [0, 1] inner_tiles = [16, 2] into %y : tensor<32x6xf32> -> tensor<2x3x16x2xf32>
  return %0 : tensor<2x3x16x2xf32>
}

// -----

func.func @f(%w: tensor<17x6xf32>, %y: tensor<2x6x16xf32>) -> tensor<2x6x16xf32> {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{pads a weight with something else than zeros}}
  %0 = linalg.pack %w padding_value(%one : f32) inner_dims_pos = [0] inner_tiles = [16] into %y : tensor<17x6xf32> -> tensor<2x6x16xf32>
  return %0 : tensor<2x6x16xf32>
}
