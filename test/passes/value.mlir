// The passes keep the value of a model, to the last of nine digits.
// RUN: transformer-interpret %s > %t.before
// RUN: transformer-opt %s -allow-unregistered-dialect --transformer-expand-composites | transformer-interpret > %t.expanded
// RUN: diff %t.before %t.expanded
// RUN: transformer-opt %s -allow-unregistered-dialect --transformer-fuse | transformer-interpret > %t.fused
// RUN: diff %t.before %t.fused
// RUN: transformer-opt %s -allow-unregistered-dialect --transformer-fuse --transformer-hoist-parameters --transformer-outline-prepared | transformer-interpret > %t.prepared
// RUN: diff %t.before %t.prepared
// RUN: FileCheck %s < %t.before

// CHECK: @encoder
// CHECK-NEXT: [2, 3, 4]
// CHECK: 0 0 0 0
// CHECK: @decoder

transformer.parameter @wq : tensor<4x4xf32> {test.value = dense<[[-0.35, -0.70, 0.30, -0.86], [0.07, -0.27, -0.88, 0.01], [-0.93, -0.13, -0.86, -0.82], [-0.15, 0.65, -0.75, -0.55]]> : tensor<4x4xf32>}
transformer.parameter @wk : tensor<4x4xf32> {test.value = dense<[[0.25, 0.90, 0.15, -0.21], [0.95, -0.91, 0.72, -0.42], [-0.71, -0.76, -0.38, 0.63], [-0.64, 0.16, 0.28, -0.26]]> : tensor<4x4xf32>}
transformer.parameter @wv : tensor<4x4xf32> {test.value = dense<[[0.10, -0.87, -0.88, -0.59], [0.36, -0.14, -0.37, 0.17], [-0.09, -0.40, 0.59, 0.40], [-0.51, 0.15, 0.05, 0.75]]> : tensor<4x4xf32>}
transformer.parameter @wo : tensor<4x4xf32> {test.value = dense<[[0.46, -0.42, 0.96, -0.76], [-0.16, 0.51, -0.70, -0.02], [-0.92, 0.34, 0.53, 0.15], [0.75, -0.37, 0.39, 0.19]]> : tensor<4x4xf32>}
transformer.parameter @b : tensor<4xf32> {test.value = dense<[0.16, -0.09, 0.68, 0.89]> : tensor<4xf32>}
transformer.parameter @c : tensor<4xf32> {test.value = dense<[-0.05, 0.33, -0.88, 0.40]> : tensor<4xf32>}
transformer.parameter @w1 : tensor<8x4xf32> {test.value = dense<[[0.29, 0.99, 0.64, -0.43], [-0.23, 0.34, -0.95, -0.08], [-0.66, -0.77, -0.88, 0.54], [-0.74, -0.50, -0.22, 0.74], [-0.84, -0.10, 0.10, 0.77], [0.64, 0.73, -0.44, -0.17], [-0.28, 0.77, 0.92, -0.70], [-0.65, -0.54, -0.53, -0.03]]> : tensor<8x4xf32>}
transformer.parameter @b1 : tensor<8xf32> {test.value = dense<[0.18, -0.47, -0.99, -0.16, -0.26, 0.13, 0.91, 0.38]> : tensor<8xf32>}
transformer.parameter @w2 : tensor<4x8xf32> {test.value = dense<[[0.03, 0.24, 0.35, -0.89, 0.80, 0.56, 0.75, 0.60], [-0.22, -0.20, -0.79, 0.27, -0.88, -0.87, -0.58, -0.68], [-0.32, -0.89, -1.00, -0.70, -0.80, -0.27, -0.95, 0.75], [0.23, -0.70, -0.50, -0.31, -0.27, -0.75, 0.70, 0.99]]> : tensor<4x8xf32>}
transformer.parameter @gamma : tensor<4xf32> {test.value = dense<[-0.07, -0.03, -0.83, -0.80]> : tensor<4xf32>}
transformer.parameter @words : tensor<5x4xf32> {test.value = dense<[[-0.31, -0.47, 0.66, -0.68], [-0.95, 0.90, 0.06, -0.71], [0.09, -0.95, 0.06, 0.96], [0.73, 0.39, -0.48, -0.27], [-0.67, 0.54, 0.07, 0.56]]> : tensor<5x4xf32>}
transformer.parameter @cq : tensor<4x4xf32> {test.value = dense<[[-0.34, -0.55, 0.62, 0.97], [0.71, 0.61, 0.64, 0.48], [-0.55, 0.04, -0.29, -0.94], [-0.94, -0.44, -0.48, 0.39]]> : tensor<4x4xf32>}
transformer.parameter @ck : tensor<4x4xf32> {test.value = dense<[[0.91, -0.11, 0.87, 0.98], [0.91, -0.27, -0.56, -0.55], [-0.61, -0.59, 0.25, 0.80], [0.68, -0.04, 0.31, 0.60]]> : tensor<4x4xf32>}
transformer.parameter @cv : tensor<4x4xf32> {test.value = dense<[[-0.83, 0.32, 0.82, 0.56], [0.50, -0.04, -0.64, 0.58], [-0.33, 0.60, 0.94, -0.21], [-0.20, 0.89, 0.45, -0.66]]> : tensor<4x4xf32>}
func.func private @post(%x: tensor<?x4xf32>, %seq: !transformer.sequences, %wq: tensor<4x4xf32>, %wk: tensor<4x4xf32>, %wv: tensor<4x4xf32>, %wo: tensor<4x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %w1: tensor<8x4xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>, %gamma: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %b, %wk, %c, %wv, %b, %wo, %c) ffn(%w1, %b1, %w2, %c)
      norms(%gamma, %b, %gamma, %c) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func private @post_copy(%x: tensor<?x4xf32>, %seq: !transformer.sequences, %wq: tensor<4x4xf32>, %wk: tensor<4x4xf32>, %wv: tensor<4x4xf32>, %wo: tensor<4x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %w1: tensor<8x4xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>, %gamma: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %b, %wk, %c, %wv, %b, %wo, %c) ffn(%w1, %b1, %w2, %c)
      norms(%gamma, %b, %gamma, %c) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func private @pre(%x: tensor<?x4xf32>, %seq: !transformer.sequences, %wq: tensor<4x4xf32>, %wk: tensor<4x4xf32>, %wv: tensor<4x4xf32>, %wo: tensor<4x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %w1: tensor<8x4xf32>, %b1: tensor<8xf32>, %w2: tensor<4x8xf32>, %gamma: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = transformer.encoder_layer silu %x sequences(%seq) attention(%wq, %b, %wk, %c, %wv, %b, %wo, %c) ffn(%w1, %b1, %w2, %c)
      norms(%gamma, %b, %gamma, %c) norm<eps = 1.0e-5> options<causal> {num_heads = 2 : i64, norm_first}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func @encoder(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids", test.value = dense<[[1, 4, 2], [3, 1, 0]]> : tensor<2x3xi64>},
    %mask: tensor<?x?xi64> {transformer.name = "attention_mask", test.value = dense<[[1, 1, 1], [1, 1, 0]]> : tensor<2x3xi64>},
    %position_ids: tensor<?x?xi64> {transformer.name = "position_ids", test.value = dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi64>})
    -> (tensor<?x?x4xf32> {transformer.name = "last_hidden_state"}) attributes {transformer.entry} {
  %ids, %positions, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %wq = transformer.get_parameter @wq : tensor<4x4xf32>
  %wk = transformer.get_parameter @wk : tensor<4x4xf32>
  %wv = transformer.get_parameter @wv : tensor<4x4xf32>
  %wo = transformer.get_parameter @wo : tensor<4x4xf32>
  %b = transformer.get_parameter @b : tensor<4xf32>
  %c = transformer.get_parameter @c : tensor<4xf32>
  %w1 = transformer.get_parameter @w1 : tensor<8x4xf32>
  %b1 = transformer.get_parameter @b1 : tensor<8xf32>
  %w2 = transformer.get_parameter @w2 : tensor<4x8xf32>
  %gamma = transformer.get_parameter @gamma : tensor<4xf32>
  %words = transformer.get_parameter @words : tensor<5x4xf32>
  %cq = transformer.get_parameter @cq : tensor<4x4xf32>
  %ck = transformer.get_parameter @ck : tensor<4x4xf32>
  %cv = transformer.get_parameter @cv : tensor<4x4xf32>
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<5x4xf32> -> tensor<?x4xf32>
  %p = transformer.sinusoidal_position %positions interleaved max_positions 16 : tensor<?xi64> -> tensor<?x4xf32>
  %s = arith.addf %p, %e : tensor<?x4xf32>
  %n = transformer.layer_norm %s, %gamma, %b norm<eps = 1.0e-5> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %l0 = call @post(%n, %seq, %wq, %wk, %wv, %wo, %b, %c, %w1, %b1, %w2, %gamma) : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %l1 = call @post_copy(%l0, %seq, %wk, %cq, %wv, %wo, %b, %c, %w1, %b1, %w2, %gamma) : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %l2 = call @pre(%l1, %seq, %wq, %wk, %wv, %wo, %b, %c, %w1, %b1, %w2, %gamma) : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = transformer.unpack_tokens %l2, %seq : tensor<?x4xf32> -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}
func.func @decoder(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids", test.value = dense<[[1, 4, 2], [3, 1, 0]]> : tensor<2x3xi64>},
    %mask: tensor<?x?xi64> {transformer.name = "attention_mask", test.value = dense<[[1, 1, 1], [1, 1, 0]]> : tensor<2x3xi64>},
    %position_ids: tensor<?x?xi64> {transformer.name = "position_ids", test.value = dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi64>})
    -> (tensor<?x?x4xf32> {transformer.name = "last_hidden_state"}) attributes {transformer.entry} {
  %ids, %positions, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %wq = transformer.get_parameter @wq : tensor<4x4xf32>
  %wk = transformer.get_parameter @wk : tensor<4x4xf32>
  %wv = transformer.get_parameter @wv : tensor<4x4xf32>
  %wo = transformer.get_parameter @wo : tensor<4x4xf32>
  %b = transformer.get_parameter @b : tensor<4xf32>
  %c = transformer.get_parameter @c : tensor<4xf32>
  %w1 = transformer.get_parameter @w1 : tensor<8x4xf32>
  %b1 = transformer.get_parameter @b1 : tensor<8xf32>
  %w2 = transformer.get_parameter @w2 : tensor<4x8xf32>
  %gamma = transformer.get_parameter @gamma : tensor<4xf32>
  %words = transformer.get_parameter @words : tensor<5x4xf32>
  %cq = transformer.get_parameter @cq : tensor<4x4xf32>
  %ck = transformer.get_parameter @ck : tensor<4x4xf32>
  %cv = transformer.get_parameter @cv : tensor<4x4xf32>
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<5x4xf32> -> tensor<?x4xf32>
  %p = transformer.sinusoidal_position %positions interleaved max_positions 16 : tensor<?xi64> -> tensor<?x4xf32>
  %s = arith.addf %p, %e : tensor<?x4xf32>
  %n = transformer.layer_norm %s, %gamma, %b norm<eps = 1.0e-5> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %m = call @pre(%n, %seq, %wq, %wk, %wv, %wo, %b, %c, %w1, %b1, %w2, %gamma) : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %d = transformer.decoder_layer relu %n sequences(%seq) memory(%m, %seq) self_attention(%wq, %b, %wk, %c, %wv, %b, %wo, %c)
      cross_attention(%cq, %b, %ck, %c, %cv, %b, %wo, %c) ffn(%w1, %b1, %w2, %c) norms(%gamma, %b, %gamma, %c, %b, %c)
      norm<eps = 1.0e-5, unbiased, eps_outside> {num_heads = 2 : i64, norm_first}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %f = transformer.feed_forward silu %d weights(%wq, %wk, %wv) biases(%b, %c, %b) in_out
      : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = transformer.unpack_tokens %f, %seq : tensor<?x4xf32> -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}
