// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @multi_head_attention
func.func @multi_head_attention(%x: tensor<?x4xf32>, %m: tensor<?x6xf32>, %seq: !transformer.sequences, %mseq: !transformer.sequences, %w: tensor<4x4xf32>, %wm: tensor<4x6xf32>, %b: tensor<4xf32>, %f: f32) {
  // CHECK: transformer.multi_head_attention %{{.*}} sequences(%{{.*}}) weights(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) out_in {num_heads = 2 : i64} : (
  %0 = transformer.multi_head_attention %x sequences(%seq) weights(%w, %w, %w, %w) out_in {num_heads = 2 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.multi_head_attention {{.*}} biases({{.*}}) scale_factor(%{{.*}}) in_out options<causal> {num_heads = 1 : i64, scale = 1.000000e+00 : f64}
  %1 = transformer.multi_head_attention %x sequences(%seq) weights(%w, %w, %w, %w) biases(%b, %b, %b, %b) scale_factor(%f) in_out options<causal> {num_heads = 1 : i64, scale = 1.0 : f64} : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, f32) -> tensor<?x4xf32>
  // CHECK: transformer.multi_head_attention %{{.*}} sequences(%{{.*}}) memory(%{{.*}}, %{{.*}}) weights(
  %2 = transformer.multi_head_attention %x sequences(%seq) memory(%m, %mseq) weights(%w, %wm, %wm, %w) out_in {num_heads = 1 : i64} : (tensor<?x4xf32>, !transformer.sequences, tensor<?x6xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func @feed_forward
func.func @feed_forward(%x: tensor<?x4xf32>, %up: tensor<6x4xf32>, %down: tensor<4x6xf32>, %ub: tensor<6xf32>, %b: tensor<4xf32>) {
  // CHECK: transformer.feed_forward gelu %{{.*}} weights(%{{.*}}, %{{.*}}) biases(%{{.*}}, %{{.*}}) out_in : (
  %0 = transformer.feed_forward gelu %x weights(%up, %down) biases(%ub, %b) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.feed_forward silu %{{.*}} weights(%{{.*}}, %{{.*}}, %{{.*}}) out_in : (
  %1 = transformer.feed_forward silu %x weights(%up, %up, %down) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.feed_forward relu %{{.*}} weights(%{{.*}}, %{{.*}}) in_out : (
  %2 = transformer.feed_forward relu %x weights(%down, %up) in_out : (tensor<?x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func @layers
func.func @layers(%x: tensor<?x4xf32>, %m: tensor<?x4xf32>, %seq: !transformer.sequences, %mseq: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %up: tensor<6x4xf32>, %ub: tensor<6xf32>, %down: tensor<4x6xf32>) {
  // CHECK: transformer.encoder_layer gelu %{{.*}} sequences(%{{.*}}) attention({{.*}}) ffn({{.*}}) norms({{.*}}) norm<eps = 1.000000e-05> {num_heads = 2 : i64} : (
  %0 = transformer.encoder_layer gelu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%up, %ub, %down, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.encoder_layer {{.*}} norm<eps = 1.000000e-05, unbiased, eps_outside> options<causal> {norm_first, num_heads = 2 : i64}
  %1 = transformer.encoder_layer gelu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%up, %ub, %down, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5, unbiased, eps_outside> options<causal> {num_heads = 2 : i64, norm_first}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: transformer.decoder_layer relu %{{.*}} sequences(%{{.*}}) memory(%{{.*}}, %{{.*}}) self_attention({{.*}}) cross_attention({{.*}}) ffn({{.*}}) norms({{.*}}) norm<eps = 1.000000e-05> {num_heads = 2 : i64} : (
  %2 = transformer.decoder_layer relu %x sequences(%seq) memory(%m, %mseq) self_attention(%w, %b, %w, %b, %w, %b, %w, %b) cross_attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%up, %ub, %down, %b) norms(%b, %b, %b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}
