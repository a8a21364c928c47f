// RUN: transformer-interpret %s | FileCheck %s

// Width 1 and q = 0 give equal scores: the mean of the values of the token's
// own sequence. Sequences: rows 0-1, none, row 2.
// CHECK-LABEL: @own_sequence
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}15{{$}}
// CHECK-NEXT: {{^}}15{{$}}
// CHECK-NEXT: {{^}}40{{$}}
func.func @own_sequence(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<3x1xf32>},
                        %v: tensor<?x1xf32> {test.value = dense<[[10.0], [20.0], [40.0]]> : tensor<3x1xf32>},
                        %mask: tensor<?x?xi64> {test.value = dense<[[1, 1], [0, 0], [0, 1]]> : tensor<3x2xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.attention %q, %q, %v sequences(%seq, %seq) {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// Scores 0.5 * 2 * ln 3 * (0, 1) = (0, ln 3): weights 1/4 and 3/4 of (4, 8): 7.
// ln 3 as f32 is 1.09861231, so seven digits.
// CHECK-LABEL: @scale
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}}{{$}}
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}}{{$}}
func.func @scale(%q: tensor<?x1xf32> {test.value = dense<1.0986123> : tensor<2x1xf32>},
                 %k: tensor<?x1xf32> {test.value = dense<[[0.0], [1.0]]> : tensor<2x1xf32>},
                 %v: tensor<?x1xf32> {test.value = dense<[[4.0], [8.0]]> : tensor<2x1xf32>},
                 %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %factor = arith.constant 2.0 : f32
  %y = transformer.attention %q, %k, %v sequences(%seq, %seq) scale_factor(%factor) {num_heads = 1 : i64, scale = 0.5 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// Of two keys with the weights 1 and exp(0.006637) = 1.006659 the second value is multiplied by the nearest number of
// eight bits, 1.0078125, and divided by a sum that is not rounded. The logarithm is that of this sum.
// CHECK-LABEL: @bf16
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}0.50223{{[0-9]*}}{{$}}
// CHECK-NEXT: {{^}}0.50223{{[0-9]*}}{{$}}
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}0.69647{{[0-9]*}}{{$}}
// CHECK-NEXT: {{^}}0.69647{{[0-9]*}}{{$}}
func.func @bf16(%q: tensor<?x1xf32> {test.value = dense<1.0> : tensor<2x1xf32>},
                %k: tensor<?x1xf32> {test.value = dense<[[0.0], [0.006637]]> : tensor<2x1xf32>},
                %v: tensor<?x1xf32> {test.value = dense<[[0.0], [1.0]]> : tensor<2x1xf32>},
                %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y, %sums = transformer.attention %q, %k, %v sequences(%seq, %seq) options<bf16> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>, tensor<?x1xf32>
  return %y, %sums : tensor<?x1xf32>, tensor<?x1xf32>
}

// Query i sees keys 0 .. i of its sequence: means of prefixes. With left padding
// and a hole in the mask the sequences are the kept tokens (3, 5, 10) and (7, 9).
// CHECK-LABEL: @causal
// CHECK-NEXT: [5, 1]
// CHECK-NEXT: {{^}}3{{$}}
// CHECK-NEXT: {{^}}4{{$}}
// CHECK-NEXT: {{^}}6{{$}}
// CHECK-NEXT: {{^}}7{{$}}
// CHECK-NEXT: {{^}}8{{$}}
func.func @causal(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<5x1xf32>},
                  %v: tensor<?x1xf32> {test.value = dense<[[3.0], [5.0], [10.0], [7.0], [9.0]]> : tensor<5x1xf32>},
                  %mask: tensor<?x?xi64> {test.value = dense<[[0, 1, 1, 1], [1, 0, 1, 0]]> : tensor<2x4xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.attention %q, %q, %v sequences(%seq, %seq) options<causal> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// Cross-attention: 1, 2 and 0 queries; 2, 0 and 1 keys. Row 0 attends to the
// mean of (10, 20); row 1's queries have no key and give zeros.
// CHECK-LABEL: @cross
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}15{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}0{{$}}
func.func @cross(%q: tensor<?x1xf32> {test.value = dense<1.0> : tensor<3x1xf32>},
                 %k: tensor<?x1xf32> {test.value = dense<1.0> : tensor<3x1xf32>},
                 %v: tensor<?x1xf32> {test.value = dense<[[10.0], [20.0], [30.0]]> : tensor<3x1xf32>},
                 %mask: tensor<?x?xi64> {test.value = dense<[[1, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>},
                 %memory_mask: tensor<?x?xi64> {test.value = dense<[[1, 0, 1], [0, 0, 0], [0, 0, 1]]> : tensor<3x3xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %keys = transformer.pack_tokens() mask(%memory_mask) : tensor<?x?xi64>
  %y = transformer.attention %q, %k, %v sequences(%seq, %keys) {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// Four query heads of width 1, two key/value heads: heads 0 and 1 read column 0
// (1, 3), heads 2 and 3 column 1 (10, 50). q = 0 in heads 0 and 2: means 2 and
// 30. q = 1000 in heads 1 and 3: the key 1 wins over 0, row 1 in column 0 (3),
// row 0 in column 1 (10).
// CHECK-LABEL: @grouped
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}2 3 30 10{{$}}
// CHECK-NEXT: {{^}}2 3 30 10{{$}}
func.func @grouped(%q: tensor<?x4xf32> {test.value = dense<[[0.0, 1000.0, 0.0, 1000.0], [0.0, 1000.0, 0.0, 1000.0]]> : tensor<2x4xf32>},
                   %k: tensor<?x2xf32> {test.value = dense<[[0.0, 1.0], [1.0, 0.0]]> : tensor<2x2xf32>},
                   %v: tensor<?x2xf32> {test.value = dense<[[1.0, 10.0], [3.0, 50.0]]> : tensor<2x2xf32>},
                   %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x4xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.attention %q, %k, %v sequences(%seq, %seq) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Positions count from the end of the keys. Two queries behind four keys stand at 2
// and 3: means of three and of four values, sums 3 and 4 (ln 3, ln 4). Of three
// queries behind one key only the last one sees it.
// CHECK-LABEL: @causal_from_the_end
// CHECK-NEXT: [5, 1]
// CHECK-NEXT: {{^}}20{{$}}
// CHECK-NEXT: {{^}}25{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}70{{$}}
// CHECK-NEXT: [5, 1]
// CHECK-NEXT: {{^}}1.09861229{{$}}
// CHECK-NEXT: {{^}}1.38629436{{$}}
// CHECK-NEXT: {{^}}-inf{{$}}
// CHECK-NEXT: {{^}}-inf{{$}}
// CHECK-NEXT: {{^}}0{{$}}
func.func @causal_from_the_end(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<5x1xf32>},
                               %v: tensor<?x1xf32> {test.value = dense<[[10.0], [20.0], [30.0], [40.0], [70.0]]> : tensor<5x1xf32>},
                               %mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 0], [1, 1, 1]]> : tensor<2x3xi64>},
                               %keys_mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 1, 1], [1, 0, 0, 0]]> : tensor<2x4xi64>}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %keys = transformer.pack_tokens() mask(%keys_mask) : tensor<?x?xi64>
  %y, %sums = transformer.attention %q, %v, %v sequences(%seq, %keys) options<causal> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>, tensor<?x1xf32>
  return %y, %sums : tensor<?x1xf32>, tensor<?x1xf32>
}

// A window of two: the key itself and the one before it; not causal, also the one behind it.
// CHECK-LABEL: @window
// CHECK-NEXT: [4, 1]
// CHECK-NEXT: {{^}}10{{$}}
// CHECK-NEXT: {{^}}15{{$}}
// CHECK-NEXT: {{^}}25{{$}}
// CHECK-NEXT: {{^}}35{{$}}
// CHECK-NEXT: [4, 1]
// CHECK-NEXT: {{^}}15{{$}}
// CHECK-NEXT: {{^}}20{{$}}
// CHECK-NEXT: {{^}}30{{$}}
// CHECK-NEXT: {{^}}35{{$}}
func.func @window(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<4x1xf32>},
                  %v: tensor<?x1xf32> {test.value = dense<[[10.0], [20.0], [30.0], [40.0]]> : tensor<4x1xf32>},
                  %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x4xi64>}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %0 = transformer.attention %q, %v, %v sequences(%seq, %seq) options<causal, window = 2> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %1 = transformer.attention %q, %v, %v sequences(%seq, %seq) options<window = 2> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %0, %1 : tensor<?x1xf32>, tensor<?x1xf32>
}

// A slope of ln 2, causal: each step back halves the weight; 1; (1/2 + 4) / 1.5 = 3;
// (1/4 + 2 + 10) / 1.75 = 7. A table for the distances -1, 0, 1 of ln 2, 0, -1000: keys
// before the query weigh 2, itself 1, keys behind it nothing: 1; (2 + 4) / 3; (2 + 8 + 10) / 5.
// ln 2 as f32 is 0.693147182, so seven digits.
// CHECK-LABEL: @position_bias
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}{{3|3.00000[0-9]*}}{{$}}
// CHECK-NEXT: {{^}}{{7|7.00000[0-9]*}}{{$}}
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}{{2|1.999999[0-9]*}}{{$}}
// CHECK-NEXT: {{^}}{{4|3.999999[0-9]*}}{{$}}
func.func @position_bias(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<3x1xf32>},
                         %v: tensor<?x1xf32> {test.value = dense<[[1.0], [4.0], [10.0]]> : tensor<3x1xf32>},
                         %slopes: tensor<1xf32> {test.value = dense<0.6931472> : tensor<1xf32>},
                         %table: tensor<1x3xf32> {test.value = dense<[[0.6931472, 0.0, -1000.0]]> : tensor<1x3xf32>},
                         %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x3xi64>}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %0 = transformer.attention %q, %v, %v sequences(%seq, %seq) position_bias(%slopes : tensor<1xf32>) options<causal> {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %1 = transformer.attention %q, %v, %v sequences(%seq, %seq) position_bias(%table : tensor<1x3xf32>) {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %0, %1 : tensor<?x1xf32>, tensor<?x1xf32>
}

// Two heads of one column each, a table of three rows.
// CHECK-LABEL: @relative_scores
// CHECK-NEXT: [2, 6]
// CHECK-NEXT: {{^}}1 3 5 4 8 12{{$}}
// CHECK-NEXT: {{^}}2 6 10 -2 -4 -6{{$}}
func.func @relative_scores(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0], [2.0, -1.0]]> : tensor<2x2xf32>},
                           %table: tensor<3x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}) -> tensor<?x6xf32> {
  %y = transformer.relative_scores %x, %table {num_heads = 2 : i64} : tensor<?x2xf32>, tensor<3x2xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// q = 0. Query 0 sees keys 0 and 1 at the distances 0 and 1, query 1 at -1 and 0;
// the columns of -1, 0, 1 are 1, 0, 1. Scores of query 0: 0 + 0 and ln 3 + ln 2,
// weights 1/7 and 6/7 of (7, 14): 13. Of query 1: key 0 ln 4 + ln 2, key 1
// 0 + 0: 8/9 of 7 and 1/9 of 14.
// CHECK-LABEL: @disentangled
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}13{{$}}
// CHECK-NEXT: {{^}}7.7777{{[0-9]*$}}
func.func @disentangled(%q: tensor<?x1xf32> {test.value = dense<0.0> : tensor<2x1xf32>},
                        %v: tensor<?x1xf32> {test.value = dense<[[7.0], [14.0]]> : tensor<2x1xf32>},
                        %c2p: tensor<?x2xf32> {test.value = dense<[[0.0, 1.0986123], [0.0, 1.3862944]]> : tensor<2x2xf32>},
                        %p2c: tensor<?x2xf32> {test.value = dense<[[0.0, 0.6931472], [0.0, 0.6931472]]> : tensor<2x2xf32>},
                        %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.attention %q, %q, %v sequences(%seq, %seq) query_scores(%c2p : tensor<?x2xf32>) key_scores(%p2c : tensor<?x2xf32>) columns [1, 0, 1] {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
