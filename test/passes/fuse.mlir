// RUN: transformer-opt %s --transformer-fuse | FileCheck %s
// RUN: transformer-opt %s --transformer-fuse --transformer-hoist-parameters --transformer-outline-prepared | FileCheck %s --check-prefix=PREPARED

// Two copies of one BERT-like layer, as a hand-written model may have them.

// CHECK-NOT: @layer_1
// CHECK-LABEL: func.func private @layer_0(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: tensor.concat dim(0)
// CHECK: tensor.concat dim(0)
// CHECK: %[[QKV:.*]] = transformer.linear %[[X]], {{.*}} -> tensor<?x24xf32>
// CHECK: %[[S:.*]]:3 = transformer.split %[[QKV]]
// CHECK: transformer.attention %[[S]]#0, %[[S]]#1, %[[S]]#2
// CHECK: %[[O:.*]] = transformer.linear
// CHECK: %[[H:.*]] = transformer.residual_layer_norm %[[X]], %[[O]]
// CHECK: transformer.activation gelu
// CHECK: %[[F:.*]] = transformer.linear
// CHECK: transformer.residual_layer_norm %[[H]], %[[F]]
// CHECK-NEXT: return
// CHECK-NOT: @layer_1
// CHECK-LABEL: @forward(
// CHECK: transformer.embedding_layer_norm
// CHECK: call @layer_0
// CHECK: call @layer_0

// One function for the weights of both layers, one tensor for their common bias.
// PREPARED: transformer.prepared @sinusoidal_table = @prepare_0() : tensor<16x8xf32>
// PREPARED-NEXT: transformer.prepared @q.prepared = @prepare_1(@q, @k, @w) : tensor<24x8xf32>
// PREPARED-NEXT: transformer.prepared @b.prepared = @prepare_2(@b) : tensor<24xf32>
// PREPARED-NEXT: transformer.prepared @k.prepared = @prepare_1(@k, @q, @w) : tensor<24x8xf32>
// PREPARED-NOT: transformer.prepared
// PREPARED-LABEL: func.func private @layer_0(
// PREPARED-NOT: tensor.concat
// PREPARED-LABEL: @forward(
// PREPARED-NOT: tensor.concat
// PREPARED-LABEL: @prepare_0(
// PREPARED-NOT: @prepare_3

transformer.parameter @q : tensor<8x8xf32>
transformer.parameter @k : tensor<8x8xf32>
transformer.parameter @w : tensor<8x8xf32>
transformer.parameter @b : tensor<8xf32>
transformer.parameter @words : tensor<30x8xf32>
func.func private @layer_0(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %b, %wk, %b, %w, %b, %w, %b)
      ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @layer_1(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %b, %wk, %b, %w, %b, %w, %b)
      ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 2 : i64}
      : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @forward(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"}, %position_ids: tensor<?x?xi64> {transformer.name = "position_ids"})
    -> (tensor<?x?x8xf32> {transformer.name = "last_hidden_state"}) attributes {transformer.entry} {
  %ids, %positions, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x8xf32>
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %p = transformer.sinusoidal_position %positions interleaved max_positions 16 : tensor<?xi64> -> tensor<?x8xf32>
  %s = arith.addf %e, %p : tensor<?x8xf32>
  %wq = transformer.get_parameter @q : tensor<8x8xf32>
  %wk = transformer.get_parameter @k : tensor<8x8xf32>
  %w = transformer.get_parameter @w : tensor<8x8xf32>
  %b = transformer.get_parameter @b : tensor<8xf32>
  %n = transformer.layer_norm %s, %b, %b norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %0 = call @layer_0(%n, %seq, %wq, %wk, %w, %b) {transformer.scope = "layer.0"} : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = call @layer_1(%0, %seq, %wk, %wq, %w, %b) {transformer.scope = "layer.1"} : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = transformer.unpack_tokens %1, %seq : tensor<?x8xf32> -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
