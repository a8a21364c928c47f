// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --split-input-file | FileCheck %s
// RUN: transformer-opt %s --transformer-to-linalg --transformer-fuse-elementwise --transformer-rows-in-place --transformer-pass-destinations --split-input-file | FileCheck %s --check-prefix=INTO

// A product from zeros, by the layout of the weight.
// CHECK: #[[M:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK: #[[N:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: #[[Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: @linear_out_in(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<32x5xf32>) -> tensor<?x32xf32>
// CHECK: %[[Z:.*]] = linalg.fill
// CHECK: linalg.matmul indexing_maps = [#[[M]], #[[N]], #[[Y]]] ins(%[[X]], %[[W]] {{.*}} outs(%[[Z]]
// CHECK-NOT: linalg.generic
// INTO-LABEL: @linear_out_in(
// INTO-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<32x5xf32>, %[[Y:.*]]: tensor<?x32xf32>) -> tensor<?x32xf32>
// INTO: linalg.fill {{.*}} outs(%[[Y]]
func.func @linear_out_in(%x: tensor<?x5xf32>, %w: tensor<32x5xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x5xf32>, tensor<32x5xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// Bias, activation and residual are one op behind the product.
// CHECK-LABEL: @linear_in_out_epilogue(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:[^:]*]]: tensor<5x32xf32>, %[[B:[^:]*]]: tensor<32xf32>, %[[R:[^:]*]]: tensor<?x32xf32>
// CHECK: %[[P:.*]] = linalg.matmul ins(%[[X]], %[[W]]
// CHECK: linalg.generic {{.*}} ins(%[[R]], %[[P]], %[[B]]
// CHECK-NEXT: (%[[RI:.*]]: f32, %[[SUM:.*]]: f32, %[[BI:.*]]: f32, %{{.*}}: f32)
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[SUM]], %[[BI]]
// CHECK-NEXT: %[[A:.*]] = transformer.activation relu %[[Y]] : f32
// CHECK-NEXT: arith.addf %[[RI]], %[[A]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @linear_in_out_epilogue(%x: tensor<?x5xf32>, %w: tensor<5x32xf32>, %b: tensor<32xf32>, %r: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<32xf32>) in_out : tensor<?x5xf32>, tensor<5x32xf32> -> tensor<?x32xf32>
  %1 = transformer.activation relu %0 : tensor<?x32xf32>
  %2 = arith.addf %r, %1 : tensor<?x32xf32>
  return %2 : tensor<?x32xf32>
}

// -----

// What two read is computed once.
// CHECK-LABEL: @two_users(
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: transformer.activation
func.func @two_users(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>, %b: tensor<16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = transformer.linear %x, %w bias(%b : tensor<16xf32>) out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  %1 = transformer.activation relu %0 : tensor<?x16xf32>
  return %0, %1 : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// A bias that is computed from others is so once, not in every row.
// CHECK-LABEL: @computed_bias(
// CHECK: %[[B:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[B]]
func.func @computed_bias(%x: tensor<?x5xf32>, %w: tensor<16x5xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>) -> tensor<?x16xf32> {
  %s = arith.mulf %b, %c : tensor<16xf32>
  %0 = transformer.linear %x, %w bias(%s : tensor<16xf32>) out_in : tensor<?x5xf32>, tensor<16x5xf32> -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

// -----

// CHECK-LABEL: @activation(
// CHECK: linalg.generic
// CHECK: transformer.activation tanh %{{.*}} : f32
// INTO-LABEL: @activation(
// INTO: linalg.generic {{.*}} outs(%arg1 : tensor<?x5xf32>)
func.func @activation(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = transformer.activation tanh %x : tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// -----

// Sequences become offsets and places; the padded shape is the destination's.
// INTO-LABEL: @forward(
// INTO-SAME: %[[IDS:[^:]*]]: tensor<?x?xi64>, %[[MASK:[^:]*]]: tensor<?x?xi64>, %[[GRID:[^:]*]]: tensor<?x?x8xf32> {transformer.name = "y"}, %[[POOLED:[^:]*]]: tensor<?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x8xf32>)
// INTO-DAG: %[[T:.*]] = transformer_kernel.count_tokens %[[MASK]]
// INTO-DAG: %[[CU:.*]] = tensor.empty(%{{.*}}) : tensor<?xindex>
// INTO-DAG: %[[ROWS:.*]] = tensor.empty(%[[T]]) : tensor<?xindex>
// INTO: %[[P:.*]]:3 = transformer_kernel.pack_tokens ins(%[[MASK]], %[[IDS]]) outs(%[[CU]], %[[ROWS]], %{{.*}})
// INTO: %[[E:.*]] = transformer_kernel.embedding ids(%[[P]]#2) {{.*}}scales = array<f64: 2.000000e+00>
// INTO: %[[L:.*]] = call @layer(%[[E]], %[[P]]#0, %[[P]]#1, %{{.*}}) {transformer.scope = "layer.0"}
// INTO: transformer_kernel.first_token ins(%[[L]], %[[P]]#0) outs(%[[POOLED]])
// INTO: transformer_kernel.unpack_tokens ins(%[[L]], %[[P]]#1) outs(%[[GRID]])
// INTO: func.func private @layer(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?xindex>, %{{.*}}: tensor<?xindex>, %{{.*}}: tensor<?x8xf32>) -> tensor<?x8xf32>
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

// INTO-LABEL: @cross_attention(
// INTO-SAME: %[[X:[^:]*]]: tensor<?x24xf32>, %[[K:[^:]*]]: tensor<?x4xf32>, %[[CU:[^:]*]]: tensor<?xindex>, %{{[^:]*}}: tensor<?xindex>, %{{[^:]*}}: index, %[[CUK:[^:]*]]: tensor<?xindex>, %{{[^:]*}}: tensor<?xindex>, %{{[^:]*}}: index, %[[Y:[^:]*]]: tensor<?x8xf32>)
// INTO: %[[Q:.*]] = tensor.extract_slice %[[X]][0, 16] [%{{.*}}, 8] [1, 1]
// INTO: transformer_kernel.attention ins(%[[Q]], %[[K]], %[[K]], %[[CU]], %[[CUK]]) outs(%[[Y]]) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 5.000000e-01 : f64}
func.func @cross_attention(%x: tensor<?x24xf32>, %k: tensor<?x4xf32>, %seq: !transformer.sequences, %memory: !transformer.sequences) -> tensor<?x8xf32> {
  %0, %q = transformer.split %x : tensor<?x24xf32> -> tensor<?x16xf32>, tensor<?x8xf32>
  %1 = transformer.attention %q, %k, %k sequences(%seq, %memory) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// What is read again (here by the residual of a pre-norm block) keeps its memory.
// INTO-LABEL: @pre_norm(
// INTO: %[[X:.*]] = linalg.matmul
// INTO: %[[Y:.*]] = tensor.empty
// INTO: transformer_kernel.layer_norm ins(%[[X]], %{{.*}}, %{{.*}}) outs(%[[Y]])
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
// INTO-LABEL: @norms(
// INTO-SAME: tensor<30x8xf32>, %[[Y0:.*]]: tensor<?x8xf32>, %[[Y1:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>) ->
// INTO: %[[N:.*]]:2 = transformer_kernel.layer_norm ins(%{{.*}} residual(%{{.*}}), %{{.*}}, %{{.*}}) outs(%[[Y0]], %[[Y1]]) {{.*}} -> (tensor<?x8xf32>, tensor<?x8xf32>)
// INTO: transformer_kernel.layer_norm ins(%[[N]]#0, %{{.*}}, %{{.*}}) outs(%[[N]]#0) norm<eps = 2.500000e-01, unbiased, eps_outside>
// INTO: transformer_kernel.embedding ids(%{{.*}}, %{{.*}}) tables(%{{.*}}, %{{.*}}) norm(%{{.*}}, %{{.*}}) {{.*}}scales = array<f64: 1.000000e+00, 1.000000e+00>
func.func @norms(%x: tensor<?x8xf32>, %b: tensor<8xf32>, %ids: tensor<?xi64>, %w: tensor<30x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %0, %sum = transformer.residual_layer_norm %x, %x, %b, %b norm<eps = 0.5> : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %1 = transformer.layer_norm %0, %b, %b norm<eps = 0.25, unbiased, eps_outside> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %2 = transformer.embedding_layer_norm ids(%ids, %ids) tables(%w, %w) norm(%b, %b) <eps = 0.5> : (tensor<?xi64>, tensor<?xi64>, tensor<30x8xf32>, tensor<30x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %1, %sum, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
