// RUN: transformer-opt %s --transformer-gpu-narrow-weights | FileCheck %s
// RUN: transformer-opt %s --pass-pipeline='builtin.module(transformer-gpu-set-target{arch=sm_80},transformer-gpu-narrow-weights)' | FileCheck %s --check-prefix=TARGET
// RUN: not transformer-opt %S/Inputs/narrow-sum.mlir --transformer-gpu-narrow-weights 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: reads a narrow weight; expected a matrix product to do so

#xs = affine_map<(d0, d1, d2) -> (d0, d2)>
#out_in = affine_map<(d0, d1, d2) -> (d1, d2)>
#ys = affine_map<(d0, d1, d2) -> (d0, d1)>

// An odd number of inputs: the last byte has one of them. 33 are two groups.
// CHECK-DAG: #[[PAIRS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 floordiv 2)>
// CHECK-DAG: #[[GROUPS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 floordiv 32)>
// CHECK-LABEL: @int4(
// CHECK: %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5x2xbf16>)
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<5x2xbf16>) outs(%{{.*}} : tensor<5x17xi8>)
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PAIRS]], #[[GROUPS]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[Q]], %[[S]]
// CHECK-NOT: quantize
func.func @int4(%x: tensor<?x33xf32>, %w: tensor<5x33xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %q = transformer.quantize_weight int4 %w out_in : tensor<5x33xf32>
  %r = linalg.matmul indexing_maps = [#xs, #out_in, #ys] ins(%x, %q : tensor<?x33xf32>, tensor<5x33xf32>) outs(%y : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// The scale of an output is one for all inputs, whichever way the weight lies.
// CHECK-LABEL: @int8(
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<5x1xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<33x5xi8>)
func.func @int8(%x: tensor<?x33xf32>, %w: tensor<33x5xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %q = transformer.quantize_weight int8 %w in_out : tensor<33x5xf32>
  %r = linalg.matmul ins(%x, %q : tensor<?x33xf32>, tensor<33x5xf32>) outs(%y : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// CHECK-LABEL: @rows(
// CHECK-NOT: quantize
// CHECK: math.roundeven
func.func @rows(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %q = transformer.quantize_rows int8 %x : tensor<?x33xf32>
  return %q : tensor<?x33xf32>
}

// Rows that attention and a product multiply are stored as bf16, columns of them, too; what else reads them has f32.
// CHECK-LABEL: @heads(
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?x24xf32>) outs(%{{.*}} : tensor<?x24xbf16>)
// CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<?x24xbf16>) outs(%{{.*}} : tensor<?x24xf32>)
// CHECK-DAG: %[[Q:.*]] = tensor.extract_slice %[[N]][0, 0] [%{{.*}}, 16] [1, 1] : tensor<?x24xbf16> to tensor<?x16xbf16>
// CHECK-DAG: %[[K:.*]] = tensor.extract_slice %[[N]][0, 16] [%{{.*}}, 8] [1, 1] : tensor<?x24xbf16> to tensor<?x8xbf16>
// CHECK-DAG: %[[O:.*]] = tensor.extract_slice %[[F]][0, 16] [%{{.*}}, 8] [1, 1] : tensor<?x24xf32> to tensor<?x8xf32>
// CHECK: transformer_kernel.attention ins(%[[Q]], %[[K]], %[[K]], %{{.*}}, %{{.*}}) outs(%{{.*}}) options<bf16>
// CHECK: return %{{.*}}, %[[O]]
func.func @heads(%x: tensor<?x24xf32>, %cu: tensor<?xindex>, %n: index, %y: tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  %r = transformer.quantize_rows bf16 %x : tensor<?x24xf32>
  %q = tensor.extract_slice %r[0, 0] [%n, 16] [1, 1] : tensor<?x24xf32> to tensor<?x16xf32>
  %k = tensor.extract_slice %r[0, 16] [%n, 8] [1, 1] : tensor<?x24xf32> to tensor<?x8xf32>
  %a = transformer_kernel.attention ins(%q, %k, %k, %cu, %cu) outs(%y) options<bf16> {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64}
      : (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %a, %k : tensor<?x16xf32>, tensor<?x8xf32>
}

// Where its weights are not bf16, attention reads float32.
// CHECK-LABEL: @other_heads(
// CHECK-NOT: xbf16>
// CHECK: transformer_kernel.attention
func.func @other_heads(%x: tensor<?x16xf32>, %cu: tensor<?xindex>, %y: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %q = transformer.quantize_rows bf16 %x : tensor<?x16xf32>
  %a = transformer_kernel.attention ins(%q, %q, %q, %cu, %cu) outs(%y) {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
      : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %a : tensor<?x16xf32>
}

// On tensor cores attention writes what a product reads, unless others read it, too.
// TARGET-LABEL: @written(
// TARGET: %[[A:.*]] = transformer_kernel.attention {{.*}} -> tensor<?x16xbf16>
// TARGET-NOT: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x16xbf16>)
// TARGET: linalg.generic {{.*}} ins(%[[A]], %{{.*}} : tensor<?x16xbf16>, tensor<4x16xf32>)
// CHECK-LABEL: @written(
// CHECK: transformer_kernel.attention {{.*}} -> tensor<?x16xf32>
func.func @written(%x: tensor<?x16xf32>, %cu: tensor<?xindex>, %y: tensor<?x16xf32>, %w: tensor<4x16xf32>, %z: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %q = transformer.quantize_rows bf16 %x : tensor<?x16xf32>
  %a = transformer_kernel.attention ins(%q, %q, %q, %cu, %cu) outs(%y) options<bf16> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64}
      : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xindex>, tensor<?xindex>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %r = transformer.quantize_rows bf16 %a : tensor<?x16xf32>
  %s = linalg.matmul indexing_maps = [#xs, #out_in, #ys] ins(%r, %w : tensor<?x16xf32>, tensor<4x16xf32>) outs(%z : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %s : tensor<?x4xf32>
}

// A cache of rounded rows is bf16, from function to function.
// CHECK-LABEL: @layer(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8xf32>, %{{[^:]*}}: tensor<?x8xf32>, %[[C:[^:]*]]: tensor<?x8x8xbf16>
// CHECK: %[[N:.*]] = transformer_kernel.append_pages ins(%[[R:.*]], %[[R]], {{.*}} outs(%[[C]]) {{.*}} (tensor<?x8xbf16>, tensor<?x8xbf16>,
// CHECK: transformer_kernel.paged_attention ins(%[[Q]], %[[N]],
func.func private @layer(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %cache: tensor<?x8x8xf32>, %cu: tensor<?xindex>, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>, %out: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8x8xf32>) {
  %rk = transformer.quantize_rows bf16 %k : tensor<?x8xf32>
  %c = transformer_kernel.append_pages ins(%rk, %rk, %cu, %table, %lengths) outs(%cache) {num_heads = 2 : i64}
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %y = transformer_kernel.paged_attention ins(%q, %c, %cu, %table, %lengths) outs(%out) options<causal, bf16> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 5.000000e-01 : f64}
      : (tensor<?x8xf32>, tensor<?x8x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y, %c : tensor<?x8xf32>, tensor<?x8x8xf32>
}
func.func @step(%q: tensor<?x8xf32>, %cache: tensor<?x8x8xf32>, %cu: tensor<?xindex>, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>, %out: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8x8xf32>) {
// CHECK: func.func @step({{.*}} %[[C:[^:]*]]: tensor<?x8x8xbf16>, {{.*}} -> (tensor<?x8xf32>, tensor<?x8x8xbf16>) {
// CHECK: call @layer({{.*}} %[[C]],
  %y, %c = call @layer(%q, %q, %cache, %cu, %table, %lengths, %out) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8x8xf32>)
  return %y, %c : tensor<?x8xf32>, tensor<?x8x8xf32>
}

// Queries that are rounded as the cache is are what tensor cores multiply, and they write what is rounded again; pages
// that are smaller than a tile of keys are left to threads, with queries as floats. Without a target all are threads'.
// CHECK-LABEL: @queries(
// CHECK: transformer_kernel.paged_attention {{.*}} (tensor<?x8xbf16>, tensor<?x128x8xbf16>, {{.*}} -> tensor<?x8xf32>
// TARGET-LABEL: @queries(
// TARGET: transformer_kernel.paged_attention {{.*}} (tensor<?x8xbf16>, tensor<?x128x8xbf16>, {{.*}} -> tensor<?x8xbf16>
// TARGET-NOT: outs(%{{.*}} : tensor<?x8xbf16>)
func.func @queries(%x: tensor<?x8xf32>, %cache: tensor<?x128x8xf32>, %cu: tensor<?xindex>, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>, %out: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x128x8xf32>) {
  %r = transformer.quantize_rows bf16 %x : tensor<?x8xf32>
  %c = transformer_kernel.append_pages ins(%r, %r, %cu, %table, %lengths) outs(%cache) {num_heads = 1 : i64}
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x128x8xf32>) -> tensor<?x128x8xf32>
  %y = transformer_kernel.paged_attention ins(%r, %c, %cu, %table, %lengths) outs(%out) options<causal, bf16> {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 5.000000e-01 : f64}
      : (tensor<?x8xf32>, tensor<?x128x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %ry = transformer.quantize_rows bf16 %y : tensor<?x8xf32>
  return %ry, %c : tensor<?x8xf32>, tensor<?x128x8xf32>
}
// CHECK-LABEL: @small_pages(
// CHECK: transformer_kernel.paged_attention {{.*}} (tensor<?x8xbf16>, tensor<?x8x8xbf16>, {{.*}} -> tensor<?x8xf32>
// TARGET-LABEL: @small_pages(
// TARGET: transformer_kernel.paged_attention {{.*}} (tensor<?x8xf32>, tensor<?x8x8xbf16>, {{.*}} -> tensor<?x8xf32>
func.func @small_pages(%x: tensor<?x8xf32>, %cache: tensor<?x8x8xf32>, %cu: tensor<?xindex>, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>, %out: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8x8xf32>) {
  %r = transformer.quantize_rows bf16 %x : tensor<?x8xf32>
  %c = transformer_kernel.append_pages ins(%r, %r, %cu, %table, %lengths) outs(%cache) {num_heads = 1 : i64}
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %y = transformer_kernel.paged_attention ins(%r, %c, %cu, %table, %lengths) outs(%out) options<causal, bf16> {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 5.000000e-01 : f64}
      : (tensor<?x8xf32>, tensor<?x8x8xf32>, tensor<?xindex>, tensor<?x?xi64>, tensor<?xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %ry = transformer.quantize_rows bf16 %y : tensor<?x8xf32>
  return %ry, %c : tensor<?x8xf32>, tensor<?x8x8xf32>
}

// What is rounded to TF32 stays float32: products round both factors, and what else reads it gets it rounded.
// CHECK-LABEL: @tf32(
// CHECK: linalg.generic {{.*}} ins(%[[X:.*]], %[[W:.*]] : tensor<?x33xf32>, tensor<5x33xf32>)
// CHECK-NOT: transformer_gpu.round_tf32
// CHECK-NOT: quantize
// TARGET-LABEL: @tf32(
// TARGET-SAME: %[[X:.*]]: tensor<?x33xf32>, %[[W:.*]]: tensor<5x33xf32>,
// TARGET: linalg.generic {{.*}} ins(%[[X]] : tensor<?x33xf32>) outs(%{{.*}} : tensor<?x33xf32>)
// TARGET: transformer_gpu.round_tf32
// TARGET: linalg.generic {{.*}} ins(%[[X]], %[[W]] : tensor<?x33xf32>, tensor<5x33xf32>)
// TARGET-COUNT-2: transformer_gpu.round_tf32
func.func @tf32(%x: tensor<?x33xf32>, %w: tensor<5x33xf32>, %y: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x33xf32>) {
  %rx = transformer.quantize_rows tf32 %x : tensor<?x33xf32>
  %rw = transformer.quantize_weight tf32 %w out_in : tensor<5x33xf32>
  %r = linalg.matmul indexing_maps = [#xs, #out_in, #ys] ins(%rx, %rw : tensor<?x33xf32>, tensor<5x33xf32>) outs(%y : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %r, %rx : tensor<?x5xf32>, tensor<?x33xf32>
}
