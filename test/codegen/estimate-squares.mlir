// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=znver4 --transformer-cpu-estimate-squares --split-input-file | FileCheck %s

// A norm's gamma and beta; half of a linear layer's variance behind a rectifier, and its bias where
// that is positive.
// CHECK-LABEL: func.func @feed_forward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[G:[^:]*]]: tensor<8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[U:[^:]*]]: tensor<16x8xf32>, %[[C:[^:]*]]: tensor<16xf32>
// CHECK: %[[N:.*]] = transformer_kernel.layer_norm ins(%[[X]], %[[G]], %[[B]])
// CHECK-DAG: %[[GG:.*]] = arith.mulf %[[G]], %[[G]]
// CHECK-DAG: %[[BB:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK: %[[S:.*]] = arith.addf %[[GG]], %[[BB]]
// CHECK: %[[E:.*]] = transformer_cpu.estimated %[[N]] squares(%[[S]])
// CHECK: linalg.matmul {{.*}} ins(%[[E]],
// CHECK: %[[M:.*]] = transformer_cpu.sample_squares ins(%[[U]]) factors(%[[S]]) outs(%{{.*}}) {dim = 0 : i64}
// CHECK: %[[EIGHT:.*]] = arith.constant dense<8.000000e+00> : tensor<16xf32>
// CHECK: %[[V:.*]] = arith.mulf %[[M]], %[[EIGHT]]
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: %[[MEAN:.*]] = arith.maximumf %[[C]],
// CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01>
// CHECK: %[[VA:.*]] = arith.mulf %[[V]], %[[HALF]]
// CHECK: %[[SQ:.*]] = arith.mulf %[[MEAN]], %[[MEAN]]
// CHECK: %[[T:.*]] = arith.addf %[[VA]], %[[SQ]]
// CHECK: transformer_cpu.estimated %[[A]] squares(%[[T]])
func.func @feed_forward(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %u: tensor<16x8xf32>, %c: tensor<16xf32>, %d: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, %u bias(%c : tensor<16xf32>) out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %2 = transformer.activation gelu %1 : tensor<?x16xf32>
  %3 = transformer.linear %2, %d out_in : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// -----

// Of a merged projection attention's result is like the values; weights [in, out].
// CHECK-LABEL: func.func @self_attention(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x24xf32>, %[[C:[^:]*]]: tensor<24xf32>
// CHECK: %[[M:.*]] = transformer_cpu.sample_squares ins(%[[W]]) factors(%{{.*}}) outs(%{{.*}}) {dim = 1 : i64}
// CHECK: %[[ALL:.*]] = arith.mulf %[[M]],
// CHECK-DAG: %[[V:.*]] = tensor.extract_slice %[[ALL]][16] [8] [1]
// CHECK-DAG: %[[CV:.*]] = tensor.extract_slice %[[C]][16] [8] [1]
// CHECK: %[[A:.*]] = transformer_kernel.attention
// CHECK: %[[SQ:.*]] = arith.mulf %[[CV]], %[[CV]]
// CHECK: %[[S:.*]] = arith.addf %[[V]], %[[SQ]]
// CHECK: transformer_cpu.estimated %[[A]] squares(%[[S]])
func.func @self_attention(%w: tensor<8x24xf32>, %c: tensor<24xf32>, %x: tensor<?x8xf32>, %seq: !transformer.sequences, %g: tensor<8xf32>, %o: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.layer_norm %x, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, %w bias(%c : tensor<24xf32>) in_out : tensor<?x8xf32>, tensor<8x24xf32> -> tensor<?x24xf32>
  %2:3 = transformer.split %1 : tensor<?x24xf32> -> tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  %3 = transformer.attention %2#0, %2#1, %2#2 sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %4 = transformer.linear %3, %o in_out : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// -----

// What a cache holds of earlier calls is of the same layer, so its values are like those that it gets now;
// pages of others tell nothing.
// CHECK-LABEL: func.func @paged(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: %[[S:.*]] = transformer_cpu.sample_squares
// CHECK: %[[V:.*]] = arith.mulf %[[S]],
// CHECK: %[[A:.*]] = transformer_kernel.paged_attention
// CHECK: transformer_cpu.estimated %[[A]] squares(%[[V]])
// CHECK: %[[B:.*]] = transformer_kernel.paged_attention
// CHECK: linalg.matmul {{.*}} ins(%[[B]],
func.func @paged(%x: tensor<?x8xf32>, %s: !transformer.sequences, %g: tensor<8xf32>, %v: tensor<8x8xf32>, %o: tensor<8x8xf32>,
                 %c0: tensor<?x128x8xf32>, %table: tensor<?x?xi64>, %others: tensor<?x?xi64>, %lengths: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x128x8xf32>) {
  %0 = transformer.layer_norm %x, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, %v out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %new = transformer.append_pages %0, %1, %c0 sequences(%s) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x128x8xf32>
  %2 = transformer.paged_attention %0, %new sequences(%s) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x128x8xf32> -> tensor<?x8xf32>
  %3 = transformer.linear %2, %o out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %4 = transformer.paged_attention %0, %new sequences(%s) pages(%others : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x128x8xf32> -> tensor<?x8xf32>
  %5 = transformer.linear %4, %o out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %3, %5, %new : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x128x8xf32>
}

// -----

// A layer gets what its caller knows; what it returns is known from its own norm, also where that
// is what the next call of the same layer reads.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %{{[^:]*}}: tensor<?xi64>, %[[T:[^:]*]]: tensor<30x8xf32>, %[[W:[^:]*]]: tensor<8x8xf32>, %[[G:[^:]*]]: tensor<8xf32>
// CHECK: %[[X:.*]] = transformer_kernel.embedding
// CHECK: %[[S:.*]] = transformer_cpu.sample_squares ins(%[[T]]) outs(%{{.*}}) {dim = 1 : i64}
// CHECK: %[[Y:.*]] = call @layer(%[[X]], %[[W]], %[[G]], %[[S]])
// CHECK: %[[GG:.*]] = arith.mulf %[[G]], %[[G]]
// CHECK: %[[SS:.*]] = arith.addf %[[GG]],
// CHECK: call @layer(%[[Y]], %[[W]], %[[G]], %[[SS]])
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %{{[^:]*}}: tensor<8x8xf32>, %{{[^:]*}}: tensor<8xf32>, %[[S:[^:]*]]: tensor<8xf32>)
// CHECK: transformer_cpu.estimated %[[X]] squares(%[[S]])
func.func @forward(%ids: tensor<?xi64>, %t: tensor<30x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.embedding %ids, %t : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %1 = call @layer(%0, %w, %g) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = call @layer(%1, %w, %g) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %1 = transformer.layer_norm %0, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Nothing is known of inputs, nor of a stream to which each layer adds.
// CHECK-NOT: transformer_cpu.estimated
func.func @forward(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = call @layer(%x, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %1 = arith.addf %x, %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// tanh is bounded; a sum's squares are added; a merged weight is looked at part by part.
// CHECK-LABEL: func.func @others(
// CHECK-SAME: %[[G:[^:]*]]: tensor<8xf32>, %[[A:[^:]*]]: tensor<4x8xf32>, %[[B:[^:]*]]: tensor<12x8xf32>
// CHECK-DAG: %[[SA:.*]] = transformer_cpu.sample_squares ins(%[[A]])
// CHECK-DAG: %[[SB:.*]] = transformer_cpu.sample_squares ins(%[[B]])
// CHECK: %[[SAB:.*]] = tensor.concat dim(0) %[[SA]], %[[SB]]
// CHECK: %[[V:.*]] = arith.mulf %[[SAB]],
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK: %[[MORE:.*]] = arith.addf %[[V]], %[[ONE]]
// CHECK: %[[S:.*]] = arith.divf %[[V]], %[[MORE]]
// CHECK: %[[SS:.*]] = arith.addf %[[S]], %[[V]] : tensor<16xf32>
// CHECK: transformer_cpu.estimated %[[SUM]] squares(%[[SS]])
func.func @others(%g: tensor<8xf32>, %a: tensor<4x8xf32>, %b: tensor<12x8xf32>, %x: tensor<?x8xf32>, %o: tensor<8x16xf32>) -> tensor<?x8xf32> {
  %0 = transformer.layer_norm %x, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %w = tensor.concat dim(0) %a, %b : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
  %1 = transformer.linear %0, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %2 = transformer.activation tanh %1 : tensor<?x16xf32>
  %3 = arith.addf %2, %1 : tensor<?x16xf32>
  %4 = transformer.linear %3, %o out_in : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// -----

// Values that heads share are as wide as themselves, not as the result: nothing is known of it.
// CHECK-LABEL: func.func @grouped_heads(
// CHECK: %[[A:.*]] = transformer_kernel.attention
// CHECK-NOT: transformer_cpu.estimated %[[A]]
// CHECK: linalg.matmul {{.*}} ins(%[[A]],
func.func @grouped_heads(%x: tensor<?x8xf32>, %s: !transformer.sequences, %g: tensor<8xf32>, %b: tensor<8xf32>, %q: tensor<8x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %o: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, %q out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %2 = transformer.linear %0, %k out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %3 = transformer.linear %0, %v out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %4 = transformer.attention %1, %2, %3 sequences(%s, %s) {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  %5 = transformer.linear %4, %o out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}
