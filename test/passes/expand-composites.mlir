// RUN: transformer-opt %s --transformer-expand-composites | FileCheck %s

// CHECK-LABEL: @feed_forward_gated(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[GATE:.*]]: tensor<16x8xf32>, %[[UP:.*]]: tensor<16x8xf32>, %[[DOWN:.*]]: tensor<8x16xf32>
// CHECK-NEXT: %[[G:.*]] = transformer.linear %[[X]], %[[GATE]] out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
// CHECK-NEXT: %[[A:.*]] = transformer.activation silu %[[G]]
// CHECK-NEXT: %[[U:.*]] = transformer.linear %[[X]], %[[UP]] out_in
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[A]], %[[U]] : tensor<?x16xf32>
// CHECK-NEXT: %[[Y:.*]] = transformer.linear %[[M]], %[[DOWN]] out_in : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @feed_forward_gated(%x: tensor<?x8xf32>, %gate: tensor<16x8xf32>, %up: tensor<16x8xf32>, %down: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %y = transformer.feed_forward silu %x weights(%gate, %up, %down) out_in
      : (tensor<?x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @feed_forward_conv1d(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[UP:.*]]: tensor<8x16xf32>, %[[DOWN:.*]]: tensor<16x8xf32>, %[[B1:.*]]: tensor<16xf32>, %[[B2:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[U:.*]] = transformer.linear %[[X]], %[[UP]] bias(%[[B1]] : tensor<16xf32>) in_out
// CHECK-NEXT: %[[A:.*]] = transformer.activation gelu_tanh %[[U]]
// CHECK-NEXT: transformer.linear %[[A]], %[[DOWN]] bias(%[[B2]] : tensor<8xf32>) in_out
func.func @feed_forward_conv1d(%x: tensor<?x8xf32>, %up: tensor<8x16xf32>, %down: tensor<16x8xf32>, %b1: tensor<16xf32>, %b2: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.feed_forward gelu_tanh %x weights(%up, %down) biases(%b1, %b2) in_out
      : (tensor<?x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The default scale is 1/sqrt(head_dim) = 1/2.
// CHECK-LABEL: @self_attention(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[SEQ:[^:]*]]: !transformer.sequences, %[[WQ:[^:]*]]: tensor<8x8xf32>, %[[WK:[^:]*]]: tensor<8x8xf32>, %[[WV:[^:]*]]: tensor<8x8xf32>, %[[WO:[^:]*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[Q:.*]] = transformer.linear %[[X]], %[[WQ]]
// CHECK-NEXT: %[[K:.*]] = transformer.linear %[[X]], %[[WK]]
// CHECK-NEXT: %[[V:.*]] = transformer.linear %[[X]], %[[WV]]
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] sequences(%[[SEQ]], %[[SEQ]]) options<causal> {num_heads = 2 : i64, scale = 5.000000e-01 : f64}
// CHECK-NEXT: transformer.linear %[[A]], %[[WO]]
func.func @self_attention(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.multi_head_attention %x sequences(%seq) weights(%wq, %wk, %wv, %wo) out_in options<causal> {num_heads = 2 : i64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @cross_attention(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[SEQ:[^:]*]]: !transformer.sequences, %[[M:[^:]*]]: tensor<?x6xf32>, %[[MSEQ:[^:]*]]: !transformer.sequences
// CHECK-NEXT: %[[Q:.*]] = transformer.linear %[[X]]
// CHECK-NEXT: %[[K:.*]] = transformer.linear %[[M]]
// CHECK-NEXT: %[[V:.*]] = transformer.linear %[[M]]
// CHECK-NEXT: transformer.attention %[[Q]], %[[K]], %[[V]] sequences(%[[SEQ]], %[[MSEQ]]) scale_factor(%{{.*}}) {num_heads = 2 : i64, scale = 2.500000e-01 : f64}
func.func @cross_attention(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %m: tensor<?x6xf32>, %mseq: !transformer.sequences, %w: tensor<8x8xf32>, %wm: tensor<8x6xf32>, %f: f32) -> tensor<?x8xf32> {
  %y = transformer.multi_head_attention %x sequences(%seq) memory(%m, %mseq) weights(%w, %wm, %wm, %w) scale_factor(%f) out_in {num_heads = 2 : i64, scale = 0.25 : f64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<?x6xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x8xf32>, f32) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @encoder_post_norm(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: %[[ATT:.*]] = transformer.attention
// CHECK: %[[O:.*]] = transformer.linear %[[ATT]]
// CHECK: %[[S1:.*]] = arith.addf %[[X]], %[[O]]
// CHECK: %[[H:.*]] = transformer.layer_norm %[[S1]], %{{.*}} norm<eps = 1.000000e-05>
// CHECK: %[[U:.*]] = transformer.linear %[[H]]
// CHECK: transformer.activation relu %[[U]]
// CHECK: %[[F:.*]] = transformer.linear
// CHECK: %[[S2:.*]] = arith.addf %[[H]], %[[F]]
// CHECK: %[[Y:.*]] = transformer.layer_norm %[[S2]]
// CHECK: return %[[Y]]
func.func @encoder_post_norm(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %w1: tensor<16x8xf32>, %b1: tensor<16xf32>, %w2: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %y = transformer.encoder_layer relu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %b)
      ffn(%w1, %b1, %w2, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @encoder_pre_norm(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: %[[N1:.*]] = transformer.layer_norm %[[X]], %{{.*}} norm<eps = 9.9999999999999995E-7, unbiased, eps_outside>
// CHECK: transformer.linear %[[N1]]
// CHECK: transformer.attention {{.*}} options<causal> {
// CHECK: %[[O:.*]] = transformer.linear
// CHECK: %[[H:.*]] = arith.addf %[[X]], %[[O]]
// CHECK: %[[N2:.*]] = transformer.layer_norm %[[H]]
// CHECK: transformer.linear %[[N2]]
// CHECK: %[[F:.*]] = transformer.linear
// CHECK: %[[Y:.*]] = arith.addf %[[H]], %[[F]]
// CHECK: return %[[Y]]
func.func @encoder_pre_norm(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %w1: tensor<16x8xf32>, %b1: tensor<16xf32>, %w2: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %y = transformer.encoder_layer relu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %b)
      ffn(%w1, %b1, %w2, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-6, unbiased, eps_outside> options<causal> {num_heads = 2 : i64, norm_first}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @decoder_layer(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[SEQ:[^:]*]]: !transformer.sequences, %[[M:[^:]*]]: tensor<?x8xf32>, %[[MSEQ:[^:]*]]: !transformer.sequences
// CHECK: transformer.attention {{.*}} sequences(%[[SEQ]], %[[SEQ]]) options<causal> {
// CHECK: %[[S1:.*]] = arith.addf %[[X]]
// CHECK: %[[H:.*]] = transformer.layer_norm %[[S1]]
// CHECK: %[[Q:.*]] = transformer.linear %[[H]]
// CHECK: %[[K:.*]] = transformer.linear %[[M]]
// CHECK: %[[V:.*]] = transformer.linear %[[M]]
// CHECK: transformer.attention %[[Q]], %[[K]], %[[V]] sequences(%[[SEQ]], %[[MSEQ]]) {num_heads
// CHECK: %[[S2:.*]] = arith.addf %[[H]]
// CHECK: %[[G:.*]] = transformer.layer_norm %[[S2]]
// CHECK: transformer.activation gelu
// CHECK: %[[S3:.*]] = arith.addf %[[G]]
// CHECK: transformer.layer_norm %[[S3]]
func.func @decoder_layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %m: tensor<?x8xf32>, %mseq: !transformer.sequences, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.decoder_layer gelu %x sequences(%seq) memory(%m, %mseq)
      self_attention(%w, %b, %w, %b, %w, %b, %w, %b) cross_attention(%w, %b, %w, %b, %w, %b, %w, %b)
      ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @positions(
// CHECK-SAME: %[[P:.*]]: tensor<?xi64>
// CHECK-NEXT: %[[T:.*]] = transformer.sinusoidal_table halves : tensor<32x8xf32>
// CHECK-NEXT: transformer.embedding %[[P]], %[[T]] : tensor<?xi64>, tensor<32x8xf32> -> tensor<?x8xf32>
func.func @positions(%p: tensor<?xi64>) -> tensor<?x8xf32> {
  %y = transformer.sinusoidal_position %p halves max_positions 32 : tensor<?xi64> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The result's claim of static rows survives.
// CHECK-LABEL: @rows_cast
// CHECK: tensor.cast %{{.*}} : tensor<?x8xf32> to tensor<4x8xf32>
func.func @rows_cast(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %y = transformer.feed_forward relu %x weights(%w, %w) out_in : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// Everything that attention can be told comes through.
// CHECK-LABEL: @options(
// CHECK: transformer.attention {{.*}} position_bias(%{{.*}} : tensor<2x3xf32>) options<causal, window = 5> {num_heads = 2 : i64, num_kv_heads = 1 : i64
func.func @options(%x: tensor<?x4xf32>, %seq: !transformer.sequences, %w: tensor<4x4xf32>, %k: tensor<2x4xf32>, %bias: tensor<2x3xf32>) -> tensor<?x4xf32> {
  %y = transformer.multi_head_attention %x sequences(%seq) weights(%w, %k, %k, %w) position_bias(%bias) out_in options<causal, window = 5> {num_heads = 2 : i64, num_kv_heads = 1 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x3xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
