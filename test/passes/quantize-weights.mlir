// RUN: transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=int8}))' | FileCheck %s
// RUN: transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights))' | FileCheck %s --check-prefix=NONE
// RUN: not transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=f7}))' 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=int8 activations=int8}))' | FileCheck %s --check-prefix=ROWS
// RUN: not transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=int8 activations=f7}))' 2>&1 | FileCheck %s --check-prefix=ACTIVATIONS
// RUN: transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=bf16 activations=bf16}))' | FileCheck %s --check-prefix=PAIRS
// RUN: transformer-opt %s --transformer-fuse=weights-dtype=int4 | FileCheck %s --check-prefix=FUSED
// RUN: transformer-opt %s --transformer-gpu-fuse='weights-dtype=bf16 activations-dtype=bf16' | FileCheck %s --check-prefix=HEADS
// RUN: transformer-opt %s --pass-pipeline='builtin.module(func.func(transformer-quantize-weights{format=bf16 activations=bf16 attention=1}))' | FileCheck %s --check-prefix=ATTENTION

// NONE-COUNT-4: transformer.quantize_weight bf16
// NONE-NOT: transformer.quantize_weight
// ERROR: error: weight format "f7": expected f32, bf16, f16, tf32, int8 or int4
// ACTIVATIONS: error: activations "f7": expected f32, bf16, f16, tf32 or int8

// CHECK-LABEL: @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[W:[^:]*]]: tensor<4x8xf32>
// CHECK: %[[Q:.*]] = transformer.quantize_weight int8 %[[W]] out_in : tensor<4x8xf32>
// CHECK: transformer.linear %[[X]], %[[Q]] out_in
// ROWS-LABEL: @linear(
// ROWS-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// ROWS: %[[R:.*]] = transformer.quantize_rows int8 %[[X]] : tensor<?x8xf32>
// ROWS: transformer.linear %[[R]], %{{.*}} out_in
func.func @linear(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) -> tensor<?x4xf32> {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// One that is rounded stays as it is, in the whole pipeline too.
// Rows stay numbers where the weight is bfloat16.
// ROWS-LABEL: @rounded(
// ROWS-NOT: quantize_rows
// ROWS: return
// CHECK-LABEL: @rounded(
// CHECK: transformer.quantize_weight bf16
// CHECK-NOT: transformer.quantize_weight
// CHECK: return
func.func @rounded(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) -> tensor<?x4xf32> {
  %q = transformer.quantize_weight bf16 %w out_in : tensor<4x8xf32>
  %y = transformer.linear %x, %q out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// A tied head: what is looked up is not rounded.
// CHECK-LABEL: @tied(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<?xi64>, %[[T:[^:]*]]: tensor<9x8xf32>
// CHECK-DAG: %[[E:.*]] = transformer.embedding %[[IDS]], %[[T]]
// CHECK-DAG: %[[Q:.*]] = transformer.quantize_weight int8 %[[T]] out_in
// CHECK: transformer.linear %[[E]], %[[Q]]
func.func @tied(%ids: tensor<?xi64>, %t: tensor<9x8xf32>) -> tensor<?x9xf32> {
  %e = transformer.embedding %ids, %t : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %e, %t out_in : tensor<?x8xf32>, tensor<9x8xf32> -> tensor<?x9xf32>
  return %y : tensor<?x9xf32>
}

// Merged projections are rounded together, whether they were before or are after.
// ROWS-LABEL: @merged(
// Rows that several linears read are rounded once.
// ROWS: %[[R:.*]] = transformer.quantize_rows
// ROWS-COUNT-3: transformer.linear %[[R]],
// ROWS-NOT: quantize_rows
// FUSED-LABEL: @merged(
// FUSED: %[[W:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
// FUSED: %[[Q:.*]] = transformer.quantize_weight int4 %[[W]] out_in : tensor<24x8xf32>
// FUSED: transformer.linear %{{.*}}, %[[Q]]
// FUSED: %[[Q:.*]] = transformer.quantize_weight bf16 %[[W]] out_in : tensor<24x8xf32>
// FUSED: transformer.linear %{{.*}}, %[[Q]]
// A GPU's attention multiplies what they are rounded to, all columns at once.
// HEADS-LABEL: @merged(
// HEADS: %[[Y:.*]] = transformer.linear
// HEADS: %[[R:.*]] = transformer.quantize_rows bf16 %[[Y]] : tensor<?x24xf32>
// HEADS: %[[P:.*]]:3 = transformer.split %[[R]]
// HEADS: transformer.attention %[[P]]#0, %[[P]]#1, %[[P]]#2 {{.*}} options<bf16> {
func.func @merged(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>, %u: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %q0 = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k0 = transformer.linear %x, %v out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v0 = transformer.linear %x, %u out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q0, %k0, %v0 sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %rw = transformer.quantize_weight bf16 %w out_in : tensor<8x8xf32>
  %rv = transformer.quantize_weight bf16 %v out_in : tensor<8x8xf32>
  %ru = transformer.quantize_weight bf16 %u out_in : tensor<8x8xf32>
  %q1 = transformer.linear %a, %rw out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k1 = transformer.linear %a, %rv out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v1 = transformer.linear %a, %ru out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %b = transformer.attention %q1, %k1, %v1 sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %b : tensor<?x8xf32>
}

// With bfloat16 the products of a backward multiply rounded numbers, too; rows that several read are rounded once.
// ROWS-LABEL: @backward(
// PAIRS-LABEL: @backward(
// PAIRS-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<4x8xf32>
// PAIRS-DAG: %[[RX:.*]] = transformer.quantize_rows bf16 %[[X]]
// PAIRS-DAG: %[[RDY:.*]] = transformer.quantize_rows bf16 %[[DY]]
// PAIRS-DAG: %[[RW:.*]] = transformer.quantize_weight bf16 %[[W]] in_out
// PAIRS-NOT: quantize
// PAIRS: transformer.linear %[[RDY]], %[[RW]] in_out
// PAIRS: transformer.linear_weight_gradient %[[RX]], %[[RDY]] out_in
func.func @backward(%x: tensor<?x8xf32>, %dy: tensor<?x4xf32>, %w: tensor<4x8xf32>) -> (tensor<?x8xf32>, tensor<4x8xf32>) {
  %dx = transformer.linear %dy, %w in_out : tensor<?x4xf32>, tensor<4x8xf32> -> tensor<?x8xf32>
  %dw = transformer.linear_weight_gradient %x, %dy out_in : tensor<?x8xf32>, tensor<?x4xf32> -> tensor<4x8xf32>
  return %dx, %dw : tensor<?x8xf32>, tensor<4x8xf32>
}

// Attention's backward multiplies the rows that its forward does, and columns of distances keep both in float32. Without
// `attention` heads stay float32.
// ROWS-LABEL: @heads(
// PAIRS-LABEL: @heads(
// PAIRS-NOT: quantize_rows
// PAIRS: transformer.attention {{.*}} options<causal> {
// PAIRS-NOT: bf16
// ATTENTION-LABEL: @heads(
// ATTENTION-SAME: %[[Q:[^:]*]]: tensor<?x8xf32>, %[[K:[^:]*]]: tensor<?x8xf32>
// ATTENTION-DAG: %[[RQ:.*]] = transformer.quantize_rows bf16 %[[Q]]
// ATTENTION-DAG: %[[RK:.*]] = transformer.quantize_rows bf16 %[[K]]
// ATTENTION: %[[Y:.*]], %[[S:.*]] = transformer.attention %[[RQ]], %[[RK]], %[[RK]] {{.*}} options<causal, bf16> {
// ATTENTION: transformer.attention_gradient %[[RQ]], %[[RK]], %[[RK]], %[[Y]], %[[S]], %[[RQ]] {{.*}} options<causal, bf16> {
// ATTENTION: transformer.attention %[[Q]], %[[K]], %[[K]] {{.*}} columns [0] {
func.func @heads(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %p: tensor<?x4xf32>, %seq: !transformer.sequences) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %y, %s = transformer.attention %q, %k, %k sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>, tensor<?x2xf32>
  %dq, %dk, %dv = transformer.attention_gradient %q, %k, %k, %y, %s, %q sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x2xf32>
  %z = transformer.attention %q, %k, %k sequences(%seq, %seq) query_scores(%p : tensor<?x4xf32>) columns [0] {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %dq, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// The gradient of a bias adds what the products of its layer multiply.
// PAIRS-LABEL: @bias(
// PAIRS-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>
// PAIRS: %[[RDY:.*]] = transformer.quantize_rows bf16 %[[DY]]
// PAIRS: transformer.sum_rows %[[RDY]]
// PAIRS: transformer.sum_rows %[[X]]
// ATTENTION-LABEL: @bias(
// ATTENTION-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>
// ATTENTION: %[[RDY:.*]] = transformer.quantize_rows bf16 %[[DY]]
// ATTENTION: transformer.sum_rows %[[RDY]]
// ATTENTION: transformer.sum_rows %[[X]]
func.func @bias(%x: tensor<?x8xf32>, %dy: tensor<?x4xf32>, %w: tensor<4x8xf32>) -> (tensor<?x8xf32>, tensor<4xf32>, tensor<8xf32>) {
  %dx = transformer.linear %dy, %w in_out : tensor<?x4xf32>, tensor<4x8xf32> -> tensor<?x8xf32>
  %db = transformer.sum_rows %dy : tensor<?x4xf32> -> tensor<4xf32>
  %other = transformer.sum_rows %x : tensor<?x8xf32> -> tensor<8xf32>
  return %dx, %db, %other : tensor<?x8xf32>, tensor<4xf32>, tensor<8xf32>
}

// A cache has what attention multiplies.
// ATTENTION-LABEL: @cached(
// ATTENTION-SAME: %[[Q:[^:]*]]: tensor<?x8xf32>, %[[K:[^:]*]]: tensor<?x8xf32>
// ATTENTION-DAG: %[[RQ:.*]] = transformer.quantize_rows bf16 %[[Q]]
// ATTENTION-DAG: %[[RK:.*]] = transformer.quantize_rows bf16 %[[K]]
// ATTENTION: %[[C:.*]] = transformer.append_pages %[[RK]], %[[RK]],
// ATTENTION: transformer.paged_attention %[[RQ]], %[[C]] {{.*}} options<causal, bf16> {
func.func @cached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %cache: tensor<?x8x8xf32>, %seq: !transformer.sequences, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?x8x8xf32>) {
  %c = transformer.append_pages %k, %k, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) {num_heads = 2 : i64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8x8xf32>
  %y = transformer.paged_attention %q, %c sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal>
      {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8x8xf32> -> tensor<?x8xf32>
  return %y, %c : tensor<?x8xf32>, tensor<?x8x8xf32>
}
