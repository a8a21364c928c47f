// RUN: transformer-interpret %s | FileCheck %s

// q = 0: every row attends evenly. v = x wv + (1, 1) with wv in_out: (2 x1, x0) + 1
// = (5, 2), (9, 4), mean (7, 3); times diag(2, 10) plus (0, 5): (14, 35).
// CHECK-LABEL: @multi_head_attention
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}14 35{{$}}
// CHECK-NEXT: {{^}}14 35{{$}}
func.func @multi_head_attention(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>},
                                %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x2xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %zero = arith.constant dense<0.0> : tensor<2x2xf32>
  %wv = arith.constant dense<[[0.0, 1.0], [2.0, 0.0]]> : tensor<2x2xf32>
  %wo = arith.constant dense<[[2.0, 0.0], [0.0, 10.0]]> : tensor<2x2xf32>
  %b0 = arith.constant dense<0.0> : tensor<2xf32>
  %bv = arith.constant dense<1.0> : tensor<2xf32>
  %bo = arith.constant dense<[0.0, 5.0]> : tensor<2xf32>
  %y = transformer.multi_head_attention %x sequences(%seq) weights(%zero, %wo, %wv, %wo) biases(%b0, %b0, %bv, %bo) in_out {num_heads = 2 : i64}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// One head of width 4: the default scale is 1/2. q = (2 ln 3, 0, 0, 0), k = (0 or 1, 0, 0, 0):
// scores (0, ln 3), weights 1/4 and 3/4 of v = 4 and 8: 7. With scale 0 the mean, 6; with
// scale 1/4 and a factor of 2 again 7; causal: the first row sees its own v only.
// CHECK-LABEL: @scale
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}} 0 0 0{{$}}
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}} 0 0 0{{$}}
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}6 0 0 0{{$}}
// CHECK-NEXT: {{^}}6 0 0 0{{$}}
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}} 0 0 0{{$}}
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}} 0 0 0{{$}}
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}4 0 0 0{{$}}
// CHECK-NEXT: {{^}}7.00000{{[0-9]*}} 0 0 0{{$}}
func.func @scale(%x: tensor<?x4xf32> {test.value = dense<[[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]> : tensor<2x4xf32>},
                 %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %wq = arith.constant dense<[[2.1972246, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %wk = arith.constant dense<[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %wv = arith.constant dense<[[4.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %wo = arith.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %two = arith.constant 2.0 : f32
  %0 = transformer.multi_head_attention %x sequences(%seq) weights(%wq, %wk, %wv, %wo) out_in {num_heads = 1 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %1 = transformer.multi_head_attention %x sequences(%seq) weights(%wq, %wk, %wv, %wo) out_in {num_heads = 1 : i64, scale = 0.0 : f64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %2 = transformer.multi_head_attention %x sequences(%seq) weights(%wq, %wk, %wv, %wo) scale_factor(%two) out_in {num_heads = 1 : i64, scale = 0.25 : f64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, f32) -> tensor<?x4xf32>
  %3 = transformer.multi_head_attention %x sequences(%seq) weights(%wq, %wk, %wv, %wo) out_in options<causal> {num_heads = 1 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// Memory of another width and length: q = 0, v = 3 memory: 3, 9; mean 6, out (6, 12).
// CHECK-LABEL: @cross
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}6 12{{$}}
func.func @cross(%x: tensor<?x2xf32> {test.value = dense<1.0> : tensor<1x2xf32>},
                 %memory: tensor<?x1xf32> {test.value = dense<[[1.0], [3.0]]> : tensor<2x1xf32>},
                 %mask: tensor<?x?xi64> {test.value = dense<[[0, 1]]> : tensor<1x2xi64>},
                 %memory_mask: tensor<?x?xi64> {test.value = dense<[[1, 0, 1]]> : tensor<1x3xi64>}) -> tensor<?x2xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %keys = transformer.pack_tokens() mask(%memory_mask) : tensor<?x?xi64>
  %wq = arith.constant dense<0.0> : tensor<1x2xf32>
  %wk = arith.constant dense<1.0> : tensor<1x1xf32>
  %wv = arith.constant dense<3.0> : tensor<1x1xf32>
  %wo = arith.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %y = transformer.multi_head_attention %x sequences(%seq) memory(%memory, %keys) weights(%wq, %wk, %wv, %wo) out_in {num_heads = 1 : i64}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<?x1xf32>, !transformer.sequences, tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x1xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// up: (1, -2, 1 - 2 + 2), relu (1, 0, 1); down: (1 + 3, 4 + 6) + (10, 20).
// CHECK-LABEL: @feed_forward
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}14 30{{$}}
func.func @feed_forward(%x: tensor<?x2xf32> {test.value = dense<[[1.0, -2.0]]> : tensor<1x2xf32>}) -> tensor<?x2xf32> {
  %up = arith.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
  %down = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b1 = arith.constant dense<[0.0, 0.0, 2.0]> : tensor<3xf32>
  %b2 = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %y = transformer.feed_forward relu %x weights(%up, %down) biases(%b1, %b2) out_in
      : (tensor<?x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// relu(gate x) = relu(1, -2) = (1, 0); up x = (-2, 1); product (-2, 0); down triples.
// CHECK-LABEL: @gated_feed_forward
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}-6 0{{$}}
func.func @gated_feed_forward(%x: tensor<?x2xf32> {test.value = dense<[[1.0, -2.0]]> : tensor<1x2xf32>}) -> tensor<?x2xf32> {
  %gate = arith.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %up = arith.constant dense<[[0.0, 1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %down = arith.constant dense<[[3.0, 0.0], [0.0, 3.0]]> : tensor<2x2xf32>
  %y = transformer.feed_forward relu %x weights(%gate, %up, %down) out_in
      : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
