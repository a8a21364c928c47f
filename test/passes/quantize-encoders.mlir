// RUN: transformer-opt %s --split-input-file --transformer-quantize-encoders | FileCheck %s
// RUN: not transformer-opt %s --split-input-file --transformer-quantize-encoders=activations=f32 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: transformer-opt %s --split-input-file --transformer-fuse='arch=sapphirerapids weights-dtype=bf16 activations-dtype=bf16' | FileCheck %s
// RUN: transformer-opt %s --split-input-file --transformer-fuse='arch=sapphirerapids/no-amx weights-dtype=bf16 activations-dtype=bf16' | FileCheck %s --check-prefix=WITHOUT
// RUN: transformer-opt %s --split-input-file --transformer-fuse='arch=sapphirerapids weights-dtype=bf16' | FileCheck %s --check-prefix=WITHOUT

// ERROR: error: activations "f32": expected bf16 or f16
// WITHOUT-NOT: bf16>

// In a module that keeps no state attention multiplies rounded rows; not what has scores of distances.
// CHECK-LABEL: @encode
// CHECK: %[[Q:.*]] = transformer.quantize_rows bf16 %{{.*}} : tensor<?x4xf32>
// CHECK: transformer.attention %[[Q]], %[[Q]], %[[Q]] {{.*}} options<causal, bf16>
// CHECK: transformer.attention %[[X:[^,]*]], %[[X]], %[[X]] {{.*}} columns [0] {
// WITHOUT-LABEL: @encode
func.func @encode(%x: tensor<?x4xf32>, %seq: !transformer.sequences, %p: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %a = transformer.attention %x, %x, %x sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %b = transformer.attention %x, %x, %x sequences(%seq, %seq) query_scores(%p : tensor<?x4xf32>) columns [0] {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %a, %b : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A cache is float32, so what reads whole sequences is, too.
// CHECK-LABEL: @decode
// CHECK-NOT: bf16>
// WITHOUT-LABEL: @decode
func.func @decode(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %cache: tensor<?x8x8xf32>, %seq: !transformer.sequences, %table: tensor<?x?xi64>, %lengths: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %c = transformer.append_pages %k, %k, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) {num_heads = 2 : i64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8x8xf32>
  %y = transformer.paged_attention %q, %c sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal>
      {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %k, %k sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y, %a : tensor<?x8xf32>, tensor<?x8xf32>
}
