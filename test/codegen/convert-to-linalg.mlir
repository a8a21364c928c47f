// RUN: transformer-opt %s --transformer-to-linalg --transformer-pass-destinations --split-input-file | FileCheck %s
// RUN: transformer-opt %s --transformer-to-linalg=panel-columns=32 --split-input-file | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: @linear_out_in(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<32x5xf32>, %[[Y:.*]]: tensor<?x32xf32>) -> tensor<?x32xf32>
// CHECK: %[[D:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<?x2x16xf32>
// CHECK: %[[P:.*]] = linalg.pack %[[W]] outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] {{.*}} -> tensor<2x5x16xf32>
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} outs(%[[D]]
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[P]] {{.*}} outs(%[[Z]] {{.*}} {transformer.contraction}
// CHECK: linalg.generic {{.*}} outs(%[[S]] {{.*}} {transformer.epilogue, transformer.work = {bytes = array<i64: 148>, fixed_bytes = 640 : i64, flops = array<i64: 320>, label = "linear 5x32", shape = "tokens={} K=5 N=32"}}
// WIDE-LABEL: @linear_out_in(
// WIDE: inner_tiles = [32] {{.*}} -> tensor<1x5x32xf32>
func.func @linear_out_in(%x: tensor<?x5xf32>, %w: tensor<32x5xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<32x5xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// Bias, activation and residual are one epilogue.
// CHECK-LABEL: @linear_in_out_epilogue(
// CHECK-SAME: %[[W:[^:]*]]: tensor<5x32xf32>, %[[B:[^:]*]]: tensor<32xf32>, %[[R:[^:]*]]: tensor<?x32xf32>
// CHECK: linalg.pack %[[W]] outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [16] {{.*}} -> tensor<2x5x16xf32>
// CHECK: %[[BP:.*]] = tensor.expand_shape %[[B]]
// CHECK: %[[RP:.*]] = tensor.expand_shape %[[R]]
// CHECK: linalg.generic {{.*}} ins(%[[BP]], %[[RP]] {{.*}} transformer.work = {bytes = array<i64: 276>, fixed_bytes = 768 : i64, flops = array<i64: 320>, label = "linear 5x32 relu", shape = "tokens={} K=5 N=32"}}
// CHECK-NEXT: (%[[BI:.*]]: f32, %[[RI:.*]]: f32, %[[SUM:.*]]: f32)
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[SUM]], %[[BI]]
// CHECK: %[[A:.*]] = arith.select
// CHECK-NEXT: arith.addf %[[A]], %[[RI]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @linear_in_out_epilogue(%x: tensor<?x5xf32>, %w: tensor<5x32xf32>, %b: tensor<32xf32>, %r: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<32xf32>) in_out : tensor<?x5xf32>, tensor<5x32xf32> -> tensor<?x32xf32>
  %1 = transformer.activation relu %0 : tensor<?x32xf32>
  %2 = arith.addf %r, %1 : tensor<?x32xf32>
  return %2 : tensor<?x32xf32>
}

// -----

// The residual is not a whole number of panels: it is added behind the slice.
// CHECK-LABEL: @width_17(
// CHECK: tensor.pad %{{.*}} low[0, 0] high[15, 0]
// CHECK: linalg.pack {{.*}} : tensor<32x5xf32> -> tensor<2x5x16xf32>
// CHECK: tensor.pad %{{.*}} low[0] high[15]
// CHECK: {transformer.epilogue, transformer.work = {bytes = array<i64: 88>, fixed_bytes = 408 : i64, flops = array<i64: 170>, label = "linear 5x17", shape = "tokens={} K=5 N=17"}}
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 17] [1, 1] : tensor<?x32xf32> to tensor<?x17xf32>
// CHECK: linalg.generic
func.func @width_17(%x: tensor<?x5xf32>, %w: tensor<17x5xf32>, %b: tensor<17xf32>, %r: tensor<?x17xf32>) -> tensor<?x17xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<17xf32>) out_in : tensor<?x5xf32>, tensor<17x5xf32> -> tensor<?x17xf32>
  %1 = arith.addf %r, %0 : tensor<?x17xf32>
  return %1 : tensor<?x17xf32>
}

// -----

// CHECK-LABEL: @two_users(
// CHECK: {transformer.epilogue, transformer.work = {bytes = array<i64: 84>, fixed_bytes = 320 : i64, flops = array<i64: 160>, label = "linear 5x16", shape = "tokens={} K=5 N=16"}}
// CHECK: linalg.generic
// CHECK: arith.select
func.func @two_users(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = transformer.activation relu %0 : tensor<?x16xf32>
  return %0, %1 : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// The sum is the epilogue of the first linear and reads the second.
// CHECK-LABEL: @sum_of_linears(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<16x5xf32>, %[[V:.*]]: tensor<16x5xf32>
// CHECK: linalg.pack %[[V]]
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} {transformer.epilogue
// CHECK: linalg.pack %[[W]]
// CHECK: linalg.generic {{.*}} ins(%[[SECOND]] {{.*}} {transformer.epilogue
func.func @sum_of_linears(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>, %v: tensor<16x5xf32>) -> tensor<?x16xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = transformer.linear %x, %v out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %2 = arith.addf %0, %1 : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

// -----

// CHECK-LABEL: @twice_a_linear(
// CHECK: {transformer.epilogue, transformer.work = {bytes = array<i64: 84>, fixed_bytes = 320 : i64, flops = array<i64: 160>, label = "linear 5x16", shape = "tokens={} K=5 N=16"}}
// CHECK: %[[Y:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %[[Y]]
func.func @twice_a_linear(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>) -> tensor<?x16xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = arith.addf %0, %0 : tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}

// -----

// What linears are followed by alone stays elementwise.
// CHECK-LABEL: @activation(
// CHECK: linalg.generic {{.*}} outs(%arg1 : tensor<?x5xf32>)
func.func @activation(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = transformer.activation tanh %x : tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// -----

// Sequences become offsets and places; the padded shape is the destination's.
// CHECK-LABEL: @forward(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<?x?xi64>, %[[MASK:[^:]*]]: tensor<?x?xi64>, %[[GRID:[^:]*]]: tensor<?x?x8xf32> {transformer.name = "y"}, %[[POOLED:[^:]*]]: tensor<?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x8xf32>)
// CHECK-DAG: %[[T:.*]] = transformer_kernel.count_tokens %[[MASK]]
// CHECK-DAG: %[[CU:.*]] = tensor.empty(%{{.*}}) : tensor<?xindex>
// CHECK-DAG: %[[ROWS:.*]] = tensor.empty(%[[T]]) : tensor<?xindex>
// CHECK: %[[P:.*]]:3 = transformer_kernel.pack_tokens ins(%[[MASK]], %[[IDS]]) outs(%[[CU]], %[[ROWS]], %{{.*}})
// CHECK: %[[E:.*]] = transformer_kernel.embedding ids(%[[P]]#2) {{.*}}scales = array<f64: 2.000000e+00>
// CHECK: %[[L:.*]] = call @layer(%[[E]], %[[P]]#0, %[[P]]#1, %{{.*}}) {transformer.scope = "layer.0"}
// CHECK: transformer_kernel.first_token ins(%[[L]], %[[P]]#0) outs(%[[POOLED]])
// CHECK: transformer_kernel.unpack_tokens ins(%[[L]], %[[P]]#1) outs(%[[GRID]])
// CHECK: func.func private @layer(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?xindex>, %{{.*}}: tensor<?xindex>, %{{.*}}: tensor<?x8xf32>) -> tensor<?x8xf32>
transformer.parameter @words : tensor<30x8xf32>
func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> (tensor<?x?x8xf32> {transformer.name = "y"}, tensor<?x8xf32>) {
  %0, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %w = transformer.get_parameter @words : tensor<30x8xf32>
  %1 = transformer.embedding %0, %w {scale = 2.0 : f64} : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %2 = call @layer(%1, %seq) {transformer.scope = "layer.0"} : (tensor<?x8xf32>, !transformer.sequences) -> tensor<?x8xf32>
  %3 = transformer.first_token %2, %seq : tensor<?x8xf32> -> tensor<?x8xf32>
  %4 = transformer.unpack_tokens %2, %seq : tensor<?x8xf32> -> tensor<?x?x8xf32>
  return %4, %3 : tensor<?x?x8xf32>, tensor<?x8xf32>
}
func.func private @layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences) -> tensor<?x8xf32> {
  %0 = transformer.activation relu %x : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: @cross_attention(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x24xf32>, %[[K:[^:]*]]: tensor<?x4xf32>, %[[CU:[^:]*]]: tensor<?xindex>, %{{[^:]*}}: tensor<?xindex>, %{{[^:]*}}: index, %[[CUK:[^:]*]]: tensor<?xindex>, %{{[^:]*}}: tensor<?xindex>, %{{[^:]*}}: index, %[[Y:[^:]*]]: tensor<?x8xf32>)
// CHECK: %[[Q:.*]] = tensor.extract_slice %[[X]][0, 16] [%{{.*}}, 8] [1, 1]
// CHECK: transformer_kernel.attention ins(%[[Q]], %[[K]], %[[K]], %[[CU]], %[[CUK]]) outs(%[[Y]]) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 5.000000e-01 : f64}
func.func @cross_attention(%x: tensor<?x24xf32>, %k: tensor<?x4xf32>, %seq: !transformer.sequences, %memory: !transformer.sequences) -> tensor<?x8xf32> {
  %0, %q = transformer.split %x : tensor<?x24xf32> -> tensor<?x16xf32>, tensor<?x8xf32>
  %1 = transformer.attention %q, %k, %k sequences(%seq, %memory) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// What is read again (here by the residual of a pre-norm block) keeps its memory.
// CHECK-LABEL: @pre_norm(
// CHECK: %[[X:.*]] = tensor.collapse_shape
// CHECK: %[[Y:.*]] = tensor.empty
// CHECK: transformer_kernel.layer_norm ins(%[[X]], %{{.*}}, %{{.*}}) outs(%[[Y]])
func.func @pre_norm(%x: tensor<?x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %1 = transformer.layer_norm %0, %b, %b norm<eps = 0.5> : tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32> -> tensor<?x16xf32>
  %2 = transformer.linear %1, %w out_in : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %3 = arith.addf %0, %2 : tensor<?x16xf32>
  return %3 : tensor<?x16xf32>
}

// -----

// What nobody else reads is normalised where it stands: the second norm in the
// first one's result, which is therefore written to the second one's destination.
// CHECK-LABEL: @norms(
// CHECK-SAME: tensor<30x8xf32>, %[[Y0:.*]]: tensor<?x8xf32>, %[[Y1:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>) ->
// CHECK: %[[N:.*]]:2 = transformer_kernel.layer_norm ins(%{{.*}} residual(%{{.*}}), %{{.*}}, %{{.*}}) outs(%[[Y0]], %[[Y1]]) {{.*}} -> (tensor<?x8xf32>, tensor<?x8xf32>)
// CHECK: transformer_kernel.layer_norm ins(%[[N]]#0, %{{.*}}, %{{.*}}) outs(%[[N]]#0) norm<eps = 2.500000e-01, unbiased, eps_outside>
// CHECK: transformer_kernel.embedding ids(%{{.*}}, %{{.*}}) tables(%{{.*}}, %{{.*}}) norm(%{{.*}}, %{{.*}}) {{.*}}scales = array<f64: 1.000000e+00, 1.000000e+00>
func.func @norms(%x: tensor<?x8xf32>, %b: tensor<8xf32>, %ids: tensor<?xi64>, %w: tensor<30x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %sum = transformer.residual_layer_norm %x, %x, %b, %b norm<eps = 0.5> : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %1 = transformer.layer_norm %0, %b, %b norm<eps = 0.25, unbiased, eps_outside> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %2 = transformer.embedding_layer_norm ids(%ids, %ids) tables(%w, %w) norm(%b, %b) <eps = 0.5> : (tensor<?xi64>, tensor<?xi64>, tensor<30x8xf32>, tensor<30x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %1, %sum, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
