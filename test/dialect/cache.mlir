// RUN: transformer-opt %s | transformer-opt | FileCheck %s

// CHECK-LABEL: func @cache
func.func @cache(%q: tensor<?x16xf32>, %k: tensor<?x8xf32>, %cache: tensor<?x64x8xf32>, %table: tensor<?x?xi64>,
                 %lengths: tensor<?xi64>, %mask: tensor<?x?xi64>, %f: f32, %slopes: tensor<4xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  // CHECK: %[[NEW:.*]] = transformer.append_pages %{{.*}}, %{{.*}}, %{{.*}} sequences(%[[SEQ:.*]]) pages(%[[TABLE:.*]] : tensor<?x?xi64>, %[[LENGTHS:.*]] : tensor<?xi64>) {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x64x8xf32>
  %new = transformer.append_pages %k, %k, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x64x8xf32>
  // CHECK: transformer.paged_attention %{{.*}}, %[[NEW]] sequences(%[[SEQ]]) pages(%[[TABLE]] : tensor<?x?xi64>, %[[LENGTHS]] : tensor<?xi64>) options<causal> {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 5.000000e-01 : f64} : tensor<?x16xf32>, tensor<?x64x8xf32> -> tensor<?x16xf32>
  %0 = transformer.paged_attention %q, %new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      options<causal> {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x16xf32>, tensor<?x64x8xf32> -> tensor<?x16xf32>
  // CHECK: transformer.paged_attention {{.*}} scale_factor(%{{.*}}) position_bias(%{{.*}} : tensor<4xf32>) options<window = 3>
  %1 = transformer.paged_attention %q, %new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      scale_factor(%f) position_bias(%slopes : tensor<4xf32>) options<window = 3>
      {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x16xf32>, tensor<?x64x8xf32> -> tensor<?x16xf32>
  // CHECK: transformer.last_token %{{.*}}, %[[SEQ]] : tensor<?x16xf32> -> tensor<?x16xf32>
  %2 = transformer.last_token %0, %seq : tensor<?x16xf32> -> tensor<?x16xf32>
  return
}
