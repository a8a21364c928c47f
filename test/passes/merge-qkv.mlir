// RUN: transformer-opt %s --transformer-merge-qkv | FileCheck %s

// Keys and values of a cross-attention; the query comes from elsewhere.
// CHECK-LABEL: @cross(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[M:[^:]*]]: tensor<?x8xf32>, %{{.*}}, %{{.*}}, %[[WQ:[^:]*]]: tensor<4x4xf32>, %[[WK:[^:]*]]: tensor<4x8xf32>, %[[WV:[^:]*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[Q:.*]] = transformer.linear %[[X]], %[[WQ]]
// CHECK-NEXT: %[[W:.*]] = tensor.concat dim(0) %[[WK]], %[[WV]] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[KV:.*]] = transformer.linear %[[M]], %[[W]] out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[S:.*]]:2 = transformer.split %[[KV]] : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xf32>
// CHECK-NEXT: transformer.attention %[[Q]], %[[S]]#0, %[[S]]#1
func.func @cross(%x: tensor<?x4xf32>, %m: tensor<?x8xf32>, %seq: !transformer.sequences, %mseq: !transformer.sequences, %wq: tensor<4x4xf32>, %wk: tensor<4x8xf32>, %wv: tensor<4x8xf32>) -> tensor<?x4xf32> {
  %q = transformer.linear %x, %wq out_in : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
  %k = transformer.linear %m, %wk out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %v = transformer.linear %m, %wv out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %mseq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %a : tensor<?x4xf32>
}

// The order is q, k, v, wherever the linears stand; other uses read the split.
// CHECK-LABEL: @self(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[SEQ:[^:]*]]: !transformer.sequences, %[[WQ:[^:]*]]: tensor<8x8xf32>, %[[WK:[^:]*]]: tensor<4x8xf32>, %[[WV:[^:]*]]: tensor<4x8xf32>, %[[BQ:[^:]*]]: tensor<8xf32>, %[[BK:[^:]*]]: tensor<4xf32>, %[[BV:[^:]*]]: tensor<4xf32>
// CHECK-NEXT: %[[W:.*]] = tensor.concat dim(0) %[[WQ]], %[[WK]], %[[WV]]
// CHECK-NEXT: %[[B:.*]] = tensor.concat dim(0) %[[BQ]], %[[BK]], %[[BV]] : (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<16xf32>
// CHECK-NEXT: %[[QKV:.*]] = transformer.linear %[[X]], %[[W]] bias(%[[B]] : tensor<16xf32>) out_in
// CHECK-NEXT: %[[S:.*]]:3 = transformer.split %[[QKV]] : tensor<?x16xf32> -> tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[S]]#0, %[[S]]#1, %[[S]]#2
// CHECK-NEXT: return %[[A]], %[[S]]#1
func.func @self(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<4x8xf32>, %wv: tensor<4x8xf32>, %bq: tensor<8xf32>, %bk: tensor<4xf32>, %bv: tensor<4xf32>) -> (tensor<?x8xf32>, tensor<?x4xf32>) {
  %v = transformer.linear %x, %wv bias(%bv : tensor<4xf32>) out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %q = transformer.linear %x, %wq bias(%bq : tensor<8xf32>) out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k = transformer.linear %x, %wk bias(%bk : tensor<4xf32>) out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return %a, %k : tensor<?x8xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @conv1d(
// CHECK: tensor.concat dim(1) %{{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
// CHECK: transformer.linear %{{.*}} in_out : tensor<?x8xf32>, tensor<8x24xf32> -> tensor<?x24xf32>
func.func @conv1d(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %q = transformer.linear %x, %wq in_out : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k = transformer.linear %x, %wk in_out : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v = transformer.linear %x, %wv in_out : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// Whisper's keys have no bias: queries and values merge.
// CHECK-LABEL: @key_without_bias(
// CHECK: %[[K:.*]] = transformer.linear %{{.*}} out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
// CHECK: %[[S:.*]]:2 = transformer.split
// CHECK: transformer.attention %[[S]]#0, %[[K]], %[[S]]#1
func.func @key_without_bias(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %q = transformer.linear %x, %wq bias(%b : tensor<8xf32>) out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k = transformer.linear %x, %wk out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v = transformer.linear %x, %wv bias(%b : tensor<8xf32>) out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// The query is read before the other projections: all stand in its place.
// CHECK-LABEL: @early_use(
// CHECK: %[[S:.*]]:3 = transformer.split
// CHECK-NEXT: transformer.activation relu %[[S]]#0
// CHECK-NEXT: transformer.attention
func.func @early_use(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %q = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %r = transformer.activation relu %q : tensor<?x8xf32>
  %k = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %a, %r : tensor<?x8xf32>, tensor<?x8xf32>
}

transformer.parameter @"k.weight" : tensor<8x8xf32>

// The query is read before the key's weight exists.
// CHECK-LABEL: @no_place(
// CHECK-NOT: transformer.split
// CHECK: return
func.func @no_place(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %q = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %r = transformer.activation relu %q : tensor<?x8xf32>
  %wk = transformer.get_parameter @"k.weight" : tensor<8x8xf32>
  %k = transformer.linear %x, %wk out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %k, %k sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %a, %r : tensor<?x8xf32>, tensor<?x8xf32>
}

// One projection for all three; different inputs; different layouts.
// CHECK-LABEL: @left_alone(
// CHECK-NOT: transformer.split
// CHECK: return
func.func @left_alone(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %z: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %q = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %a = transformer.attention %q, %q, %q sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %k = transformer.linear %y, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %v = transformer.linear %z, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %b = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %t = transformer.linear %x, %w in_out : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %c = transformer.attention %q, %k, %t sequences(%seq, %seq) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %a, %b, %c : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// Queries and keys that are rotated on their way.
// CHECK-LABEL: @rotated(
// CHECK: %[[S:.*]]:3 = transformer.split
// CHECK-DAG: %[[Q:.*]] = transformer.rotary_embedding %[[S]]#0
// CHECK-DAG: %[[K:.*]] = transformer.rotary_embedding %[[S]]#1
// CHECK: transformer.attention %[[Q]], %[[K]], %[[S]]#2 {{.*}} options<causal>
func.func @rotated(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %table: tensor<?x4xf32>, %wq: tensor<8x8xf32>, %wk: tensor<4x8xf32>) -> tensor<?x8xf32> {
  %q = transformer.linear %x, %wq out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %k = transformer.linear %x, %wk out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %v = transformer.linear %x, %wk out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %qr = transformer.rotary_embedding %q, %table {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x4xf32>
  %kr = transformer.rotary_embedding %k, %table {num_heads = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32>
  %a = transformer.attention %qr, %kr, %v sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 0.5 : f64}
      : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// A cache: its keys and values, and the queries of their own rows. Queries to a source are others'.
// CHECK-LABEL: @cache(
// CHECK: %[[W:.*]] = tensor.concat dim(0) %[[WQ:.*]], %[[WK:.*]], %[[WV:.*]] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
// CHECK-NEXT: %[[QKV:.*]] = transformer.linear %{{.*}}, %[[W]]
// CHECK-NEXT: %[[S:.*]]:3 = transformer.split %[[QKV]]
// CHECK-NEXT: %[[C:.*]] = transformer.append_pages %[[S]]#1, %[[S]]#2,
// CHECK-NEXT: %[[A:.*]] = transformer.paged_attention %[[S]]#0, %[[C]]
// CHECK-NEXT: %[[Q:.*]] = transformer.linear %[[A]],
// CHECK-NEXT: transformer.paged_attention %[[Q]], %[[C]]
func.func @cache(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %pages: tensor<?x?xi64>, %lengths: tensor<?xi64>, %source: tensor<?x?xi64>, %sourceLengths: tensor<?xi64>, %c: tensor<?x128x4xf32>, %wq: tensor<4x8xf32>, %wk: tensor<4x8xf32>, %wv: tensor<4x8xf32>, %wo: tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x128x4xf32>) {
  %q = transformer.linear %x, %wq out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %k = transformer.linear %x, %wk out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %v = transformer.linear %x, %wv out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %c1 = transformer.append_pages %k, %v, %c sequences(%seq) pages(%pages : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 2 : i64} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x128x4xf32>
  %a = transformer.paged_attention %q, %c1 sequences(%seq) pages(%pages : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      options<causal> {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x4xf32>, tensor<?x128x4xf32> -> tensor<?x4xf32>
  %q2 = transformer.linear %a, %wo out_in : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
  %a2 = transformer.paged_attention %q2, %c1 sequences(%seq) pages(%source : tensor<?x?xi64>, %sourceLengths : tensor<?xi64>)
      {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x4xf32>, tensor<?x128x4xf32> -> tensor<?x4xf32>
  return %a2, %c1 : tensor<?x4xf32>, tensor<?x128x4xf32>
}
