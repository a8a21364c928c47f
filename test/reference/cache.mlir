// RUN: transformer-interpret %s --entry=append | FileCheck %s
// RUN: transformer-interpret %s --entry=attend | FileCheck %s --check-prefix=ATTEND
// RUN: not transformer-interpret %s --entry=outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE

// Pages of two positions. Sequence 0 has one position in page 2 and gets two: keys 10 and 11 at
// positions 1 and 2, values the same; sequence 1 gets none. Page 2 is [keys 5, 10; values 6, 10],
// page 0 [keys 11, 0; values 11, 0].
// CHECK-LABEL: @append
// CHECK-NEXT: [3, 4, 1]
// CHECK-NEXT: {{^}}11{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}11{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-COUNT-4: {{^}}0{{$}}
// CHECK-NEXT: {{^}}5{{$}}
// CHECK-NEXT: {{^}}10{{$}}
// CHECK-NEXT: {{^}}6{{$}}
// CHECK-NEXT: {{^}}10{{$}}
// The last token of each sequence.
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}11{{$}}
// CHECK-NEXT: {{^}}0{{$}}
func.func @append(%k: tensor<?x1xf32> {test.value = dense<[[10.0], [11.0]]> : tensor<2x1xf32>},
                  %cache: tensor<?x4x1xf32> {test.value = dense<[[[0.0], [0.0], [0.0], [0.0]], [[0.0], [0.0], [0.0], [0.0]], [[5.0], [0.0], [6.0], [0.0]]]> : tensor<3x4x1xf32>},
                  %table: tensor<?x?xi64> {test.value = dense<[[2, 0], [1, 1]]> : tensor<2x2xi64>},
                  %lengths: tensor<?xi64> {test.value = dense<[3, 1]> : tensor<2xi64>},
                  %mask: tensor<?x?xi64> {test.value = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}) -> (tensor<?x4x1xf32>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %new = transformer.append_pages %k, %k, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 1 : i64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x4x1xf32>
  %last = transformer.last_token %k, %seq : tensor<?x1xf32> -> tensor<?x1xf32>
  return %new, %last : tensor<?x4x1xf32>, tensor<?x1xf32>
}

// Scores of 0: means of the values. Sequence 0 has three positions with the values 3, 6 (page 1)
// and 9 (page 0); its two queries are the last ones, so causal they see two and three.
// ATTEND-LABEL: @attend
// ATTEND-NEXT: [2, 1]
// ATTEND-NEXT: {{^}}4.5{{$}}
// ATTEND-NEXT: {{^}}6{{$}}
func.func @attend(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<2x1xf32>},
                  %cache: tensor<?x4x1xf32> {test.value = dense<[[[1.0], [1.0], [9.0], [7.0]], [[1.0], [1.0], [3.0], [6.0]]]> : tensor<2x4x1xf32>},
                  %table: tensor<?x?xi64> {test.value = dense<[[1, 0]]> : tensor<1x2xi64>},
                  %lengths: tensor<?xi64> {test.value = dense<[3]> : tensor<1xi64>},
                  %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.paged_attention %q, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      options<causal> {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x4x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// OUTSIDE: sequence 0 has page 5, but the cache has 1
func.func @outside(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<1x1xf32>},
                   %cache: tensor<?x4x1xf32> {test.value = dense<0.0> : tensor<1x4x1xf32>},
                   %table: tensor<?x?xi64> {test.value = dense<[[5]]> : tensor<1x1xi64>},
                   %lengths: tensor<?xi64> {test.value = dense<[1]> : tensor<1xi64>},
                   %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x1xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.paged_attention %q, %cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x4x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
