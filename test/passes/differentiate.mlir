// RUN: transformer-opt %s --split-input-file --transformer-differentiate=recompute=layer --canonicalize --cse | FileCheck %s
// RUN: transformer-opt %s --split-input-file --transformer-differentiate --canonicalize --cse | FileCheck %s --check-prefix=SAVED
// RUN: transformer-opt %s --split-input-file --transformer-differentiate=recompute=attention --canonicalize --cse | FileCheck %s --check-prefix=ATTENTION
// RUN: not transformer-opt %s --split-input-file --transformer-differentiate=recompute=all 2>&1 | FileCheck %s --check-prefix=RECOMPUTE

// RECOMPUTE: error: recompute "all": expected none, attention or layer

transformer.parameter @w : tensor<4x8xf32>

// CHECK-LABEL: func.func @loss(
// CHECK-LABEL: func.func @loss_and_gradients(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[L:[^:]*]]: tensor<?xi64>)
// CHECK-SAME: -> (tensor<f32>, tensor<4x8xf32> {transformer.name = "w.grad"})
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[W:.*]] = transformer.get_parameter @w
// CHECK: %[[Y:.*]] = transformer.linear %[[X]], %[[W]] out_in
// CHECK: %[[LOSS:.*]] = transformer.cross_entropy %[[Y]], %[[L]]
// CHECK: %[[DY:.*]] = transformer.cross_entropy_gradient %[[Y]], %[[L]], %[[ONE]]
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient %[[X]], %[[DY]] out_in
// CHECK: return %[[LOSS]], %[[DW]]
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// One backward function for both calls of a layer; of attention the same op with one more result. What
// is read twice, the input of the layer and the table of words and scores, has the sum.
transformer.parameter @words : tensor<11x8xf32>
transformer.parameter @w0 : tensor<8x8xf32>
transformer.parameter @w1 : tensor<8x8xf32>

// Without computing anything again the layer also returns what its backward reads.
// SAVED-LABEL: func.func private @layer.saving(
// SAVED: %[[Q:.*]] = transformer.linear
// SAVED: %[[R:.*]], %[[LSE:.*]] = transformer.attention %[[Q]]
// SAVED: %[[Y:.*]] = arith.addf
// SAVED: return %[[Y]], %[[Q]], %[[R]], %[[LSE]]
// SAVED-LABEL: func.func private @layer.backward(
// SAVED-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %{{[^:]*}}: !transformer.sequences, %{{[^:]*}}: tensor<8x8xf32>, %[[DY:[^:]*]]: tensor<?x8xf32>, %[[Q:[^:]*]]: tensor<?x8xf32>, %[[R:[^:]*]]: tensor<?x8xf32>, %[[LSE:[^:]*]]: tensor<?x2xf32>)
// SAVED-NEXT: transformer.attention_gradient %[[Q]], %[[X]], %[[X]], %[[R]], %[[LSE]], %[[DY]]
// Attention's results are computed from what else is returned.
// ATTENTION-LABEL: func.func private @layer.saving(
// ATTENTION: return %{{[^,]*}}, %{{[^,]*}} : tensor<?x8xf32>, tensor<?x8xf32>
// ATTENTION-LABEL: func.func private @layer.backward(
// ATTENTION-SAME: %[[Q:[^:,]*]]: tensor<?x8xf32>) ->
// ATTENTION: %[[R:.*]], %[[LSE:.*]] = transformer.attention %[[Q]]
// ATTENTION: transformer.attention_gradient %[[Q]], {{.*}}, %[[R]], %[[LSE]]
// SAVED-LABEL: func.func @loss_and_gradients(
// SAVED: %[[Y0:.*]]:4 = call @layer.saving
// SAVED: %[[Y1:.*]]:4 = call @layer.saving(%[[Y0]]#0
// SAVED: call @layer.backward(%[[Y0]]#0, {{.*}}, %[[Y1]]#1, %[[Y1]]#2, %[[Y1]]#3)
// SAVED: call @layer.backward({{.*}}, %[[Y0]]#1, %[[Y0]]#2, %[[Y0]]#3)
// SAVED-NOT: call
// CHECK-LABEL: func.func private @layer(
// CHECK-LABEL: func.func private @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[SEQ:[^:]*]]: !transformer.sequences, %[[W:[^:]*]]: tensor<8x8xf32>, %[[DY:[^:]*]]: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<8x8xf32>)
// CHECK: %[[Q:.*]] = transformer.linear %[[X]], %[[W]] out_in
// CHECK: %[[R:.*]], %[[LSE:.*]] = transformer.attention %[[Q]], %[[X]], %[[X]]
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = transformer.attention_gradient %[[Q]], %[[X]], %[[X]], %[[R]], %[[LSE]], %[[DY]] sequences(%[[SEQ]], %[[SEQ]]) options<causal>
// CHECK-DAG: %[[RES:.*]] = arith.addf %[[DY]], %[[DK]]
// CHECK-DAG: %[[BOTH:.*]] = arith.addf %[[RES]], %[[DV]]
// CHECK-DAG: %[[DX:.*]] = transformer.linear %[[DQ]], %[[W]] in_out
// CHECK-DAG: %[[DW:.*]] = transformer.linear_weight_gradient %[[X]], %[[DQ]] out_in
// CHECK-DAG: %[[ALL:.*]] = arith.addf %[[BOTH]], %[[DX]]
// CHECK: return %[[ALL]], %[[DW]]
// CHECK-NOT: @layer.backward(
func.func private @layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %q = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %x, %x sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y = arith.addf %x, %a : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK-LABEL: func.func @loss_and_gradients(
// CHECK-SAME: tensor<11x8xf32> {transformer.name = "words.grad"}, tensor<8x8xf32> {transformer.name = "w0.grad"}, tensor<8x8xf32> {transformer.name = "w1.grad"})
// CHECK: %[[D1:.*]]:2 = call @layer.backward
// CHECK: %[[D0:.*]]:2 = call @layer.backward({{.*}}, %[[D1]]#0)
// CHECK: %[[TIED:.*]] = transformer.embedding_gradient %{{.*}}, %[[D0]]#0 onto(%{{.*}})
// CHECK: return %{{.*}}, %[[TIED]], %[[D0]]#1, %[[D1]]#1
func.func @loss(%ids: tensor<?x?xi64>, %labels: tensor<?xi64>) -> tensor<f32> {
  %words = transformer.get_parameter @words : tensor<11x8xf32>
  %w0 = transformer.get_parameter @w0 : tensor<8x8xf32>
  %w1 = transformer.get_parameter @w1 : tensor<8x8xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%ids) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %words : tensor<?xi64>, tensor<11x8xf32> -> tensor<?x8xf32>
  %0 = call @layer(%x, %seq, %w0) : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %seq, %w1) : (tensor<?x8xf32>, !transformer.sequences, tensor<8x8xf32>) -> tensor<?x8xf32>
  %y = transformer.linear %1, %words out_in : tensor<?x8xf32>, tensor<11x8xf32> -> tensor<?x11xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x11xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
