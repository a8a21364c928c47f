// RUN: transformer-opt %s --split-input-file --verify-diagnostics

func.func @few_maps(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{expected 2 maps, found 1}}
  %r = transformer_gpu.product ins(%x, %w) outs(%y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>] terms {
  ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
    transformer_gpu.yield %a, %b : f32, f32
  } result {
  ^bb0(%row: index, %column: index, %number: f32):
    transformer_gpu.yield %number : f32
  } : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

func.func @loops(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{map 1: expected 3 dimensions and 2 results, found affine_map<(d0, d1) -> (d1)>}}
  %r = transformer_gpu.product ins(%x, %w) outs(%y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1) -> (d1)>] terms {
  ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
    transformer_gpu.yield %a, %b : f32, f32
  } result {
  ^bb0(%row: index, %column: index, %number: f32):
    transformer_gpu.yield %number : f32
  } : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

func.func @arguments(%x: tensor<4x8xbf16>, %w: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{terms: expected arguments of 'index', 'index', 'index', 'bf16', 'f32', found 'index', 'index', 'index', 'f32', 'f32'}}
  %r = transformer_gpu.product ins(%x, %w) outs(%y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>] terms {
  ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
    transformer_gpu.yield %a, %b : f32, f32
  } result {
  ^bb0(%row: index, %column: index, %number: f32):
    transformer_gpu.yield %number : f32
  } : (tensor<4x8xbf16>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

func.func @values(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  // expected-error @below {{result: expected to yield 'bf16', found 'f32'}}
  %r = transformer_gpu.product ins(%x, %w) outs(%y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>] terms {
  ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
    transformer_gpu.yield %a, %b : f32, f32
  } result {
  ^bb0(%row: index, %column: index, %number: f32):
    transformer_gpu.yield %number : f32
  } : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return %r : tensor<4x6xbf16>
}
