// RUN: transformer-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @dead_inputs
// CHECK: %[[IDS:.*]], %[[SEQ:.*]] = transformer.pack_tokens(%arg1) mask(%arg2) {tag} : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
// CHECK-NEXT: return %[[IDS]], %[[SEQ]]
func.func @dead_inputs(%a: tensor<?x?xi64>, %b: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> (tensor<?xi64>, !transformer.sequences) {
  %0, %1, %seq = transformer.pack_tokens(%a, %b) mask(%mask) {tag} : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  return %1, %seq : tensor<?xi64>, !transformer.sequences
}

// CHECK-LABEL: func @only_sequences
// CHECK: transformer.pack_tokens() mask(%arg1) : tensor<?x?xi64>
func.func @only_sequences(%a: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> !transformer.sequences {
  %0, %seq = transformer.pack_tokens(%a) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  return %seq : !transformer.sequences
}

// CHECK-LABEL: func @unsplit
// CHECK-NEXT: return %arg0
func.func @unsplit(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = transformer.split %x : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func @dead_sum
// CHECK: transformer.residual_layer_norm {{.*}} norm<eps = 1.000000e+00, unbiased> : {{.*}} -> tensor<?x4xf32>
func.func @dead_sum(%x: tensor<?x4xf32>, %g: tensor<4xf32>) -> tensor<?x4xf32> {
  %0, %1 = transformer.residual_layer_norm %x, %x, %g, %g norm<eps = 1.0, unbiased> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return %0 : tensor<?x4xf32>
}

// A sum that is read stays.
// CHECK-LABEL: func @live_sum
// CHECK: -> (tensor<?x4xf32>, tensor<?x4xf32>)
func.func @live_sum(%x: tensor<?x4xf32>, %g: tensor<4xf32>) -> tensor<?x4xf32> {
  %0, %1 = transformer.residual_layer_norm %x, %x, %g, %g norm<eps = 1.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func @constant_scale_factor
// CHECK-NOT: arith.constant
// CHECK: transformer.attention %arg0, %arg0, %arg0 sequences(%arg1, %arg1) {num_heads = 1 : i64, scale = 1.500000e+00 : f64}
func.func @constant_scale_factor(%x: tensor<?x4xf32>, %seq: !transformer.sequences) -> tensor<?x4xf32> {
  %f = arith.constant 3.0 : f32
  %0 = transformer.attention %x, %x, %x sequences(%seq, %seq) scale_factor(%f) {num_heads = 1 : i64, scale = 0.5 : f64} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func @redundant_memory
// CHECK: transformer.attention %arg0, %arg0, %arg0 sequences(%arg1, %arg1) {num_heads = 2 : i64, scale = 5.000000e-01 : f64}
func.func @redundant_memory(%x: tensor<?x4xf32>, %seq: !transformer.sequences) -> tensor<?x4xf32> {
  %0 = transformer.attention %x, %x, %x sequences(%seq, %seq) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func @repeated_relu
// CHECK: %[[R:.*]] = transformer.activation relu %arg0
// CHECK-NEXT: return %[[R]]
func.func @repeated_relu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = transformer.activation relu %x : tensor<?x4xf32>
  %1 = transformer.activation relu %0 : tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func @unused_log_sum_exp
// CHECK: transformer.attention {{.*}} options<causal> {num_heads = 2 : i64, scale = 5.000000e-01 : f64} : {{.*}} -> tensor<?x4xf32>{{$}}
func.func @unused_log_sum_exp(%x: tensor<?x4xf32>, %seq: !transformer.sequences) -> tensor<?x4xf32> {
  %0, %1 = transformer.attention %x, %x, %x sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>, tensor<?x2xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func @unused_rms_sum
// CHECK: transformer.residual_rms_norm {{.*}} norm<eps = 1.000000e+00> : {{.*}} -> tensor<?x4xf32>{{$}}
func.func @unused_rms_sum(%x: tensor<?x4xf32>, %g: tensor<4xf32>) -> tensor<?x4xf32> {
  %0, %1 = transformer.residual_rms_norm %x, %x, %g norm<eps = 1.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return %0 : tensor<?x4xf32>
}
