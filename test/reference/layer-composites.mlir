// RUN: transformer-interpret %s | FileCheck %s

// One token attends to itself: attention(x) = x + (0, 2).
// Post-norm, x = (1, 3): x + (1, 5) = (2, 8), normalised (-1, 1), plus beta (0, 2): h = (-1, 3).
// up: relu(-1 + 6) = 5, down (5, 10) + 1 = (6, 11); h + that = (5, 14), (-1, 1) * 10.
// Pre-norm: norm1(x) = (-1, 1) + (0, 2) = (-1, 3), attention (-1, 5), h = (0, 8); norm2(h) =
// (-10, 10), up: relu(-10 + 20) = 10, down (10, 20) + 1; y = (0, 8) + (11, 21).
// CHECK-LABEL: @encoder_layer
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}-10 10{{$}}
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}11 29{{$}}
func.func @encoder_layer(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 3.0]]> : tensor<1x2xf32>},
                         %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x1xi64>}) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<0.0> : tensor<2xf32>
  %bo = arith.constant dense<[0.0, 2.0]> : tensor<2xf32>
  %up = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %up_bias = arith.constant dense<0.0> : tensor<1xf32>
  %down = arith.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %one = arith.constant dense<1.0> : tensor<2xf32>
  %ten = arith.constant dense<10.0> : tensor<2xf32>
  %post = transformer.encoder_layer relu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %bo) ffn(%up, %up_bias, %down, %one)
      norms(%one, %bo, %ten, %b) norm<eps = 0.0> {num_heads = 1 : i64}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<1x2xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %pre = transformer.encoder_layer relu %x sequences(%seq) attention(%w, %b, %w, %b, %w, %b, %w, %bo) ffn(%up, %up_bias, %down, %one)
      norms(%one, %bo, %ten, %b) norm<eps = 0.0> {num_heads = 1 : i64, norm_first}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<1x2xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %post, %pre : tensor<?x2xf32>, tensor<?x2xf32>
}

// Pre-norm, causal, q = 0, no feed-forward: norm1 gives (-1, 1), (1, -1). Row 0 sees
// itself, row 1 the mean (0, 0): (1, 3) + (-1, 1), (3, 1) + 0. Not causal, both see the
// mean. unbiased and eps_outside: variance 2, (-1, 1) / (sqrt 2 + 1) = -+0.414213562.
// CHECK-LABEL: @causal
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}0 4{{$}}
// CHECK-NEXT: {{^}}3 1{{$}}
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}1 3{{$}}
// CHECK-NEXT: {{^}}3 1{{$}}
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}0.585786438 3.41421356{{$}}
// CHECK-NEXT: {{^}}3 1{{$}}
func.func @causal(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 3.0], [3.0, 1.0]]> : tensor<2x2xf32>},
                  %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %0 = arith.constant dense<0.0> : tensor<2x2xf32>
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<0.0> : tensor<2xf32>
  %g = arith.constant dense<1.0> : tensor<2xf32>
  %causal = transformer.encoder_layer relu %x sequences(%seq) attention(%0, %b, %w, %b, %w, %b, %w, %b) ffn(%0, %b, %0, %b)
      norms(%g, %b, %g, %b) norm<eps = 0.0> options<causal> {num_heads = 1 : i64, norm_first}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %full = transformer.encoder_layer relu %x sequences(%seq) attention(%0, %b, %w, %b, %w, %b, %w, %b) ffn(%0, %b, %0, %b)
      norms(%g, %b, %g, %b) norm<eps = 0.0> {num_heads = 1 : i64, norm_first}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %outside = transformer.encoder_layer relu %x sequences(%seq) attention(%0, %b, %w, %b, %w, %b, %w, %b) ffn(%0, %b, %0, %b)
      norms(%g, %b, %g, %b) norm<eps = 1.0, unbiased, eps_outside> options<causal> {num_heads = 1 : i64, norm_first}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %causal, %full, %outside : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// x = (1, 3), memory (10, 0), (20, 0), all projections the identity but the queries' (0).
// Post-norm: x + x normalised: (-1, 1); plus the mean (15, 0): (14, 1), normalised (1, -1);
// up 1, down (100, 200): (101, 199), normalised (-1, 1) * 7.
// Pre-norm: h = (1, 3) + (-1, 1) = (0, 4); g = h + (15, 0) = (15, 4); norm3(g) = (7, -7),
// up 7, down (700, 1400): y = (715, 1404).
// CHECK-LABEL: @decoder_layer
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}-7 7{{$}}
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}715 1404{{$}}
func.func @decoder_layer(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 3.0]]> : tensor<1x2xf32>},
                         %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x1xi64>},
                         %m: tensor<?x2xf32> {test.value = dense<[[10.0, 0.0], [20.0, 0.0]]> : tensor<2x2xf32>},
                         %memory_mask: tensor<?x?xi64> {test.value = dense<[[1, 0, 1]]> : tensor<1x3xi64>}) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %keys = transformer.pack_tokens() mask(%memory_mask) : tensor<?x?xi64>
  %0 = arith.constant dense<0.0> : tensor<2x2xf32>
  %w = arith.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<0.0> : tensor<2xf32>
  %up = arith.constant dense<[[1.0, 0.0]]> : tensor<1x2xf32>
  %b1 = arith.constant dense<0.0> : tensor<1xf32>
  %down = arith.constant dense<[[100.0], [200.0]]> : tensor<2x1xf32>
  %g = arith.constant dense<1.0> : tensor<2xf32>
  %g3 = arith.constant dense<7.0> : tensor<2xf32>
  %post = transformer.decoder_layer relu %x sequences(%seq) memory(%m, %keys) self_attention(%w, %b, %w, %b, %w, %b, %w, %b)
      cross_attention(%0, %b, %w, %b, %w, %b, %w, %b) ffn(%up, %b1, %down, %b) norms(%g, %b, %g, %b, %g3, %b) norm<eps = 0.0> {num_heads = 1 : i64}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<?x2xf32>, !transformer.sequences,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<1x2xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %pre = transformer.decoder_layer relu %x sequences(%seq) memory(%m, %keys) self_attention(%w, %b, %w, %b, %w, %b, %w, %b)
      cross_attention(%0, %b, %w, %b, %w, %b, %w, %b) ffn(%up, %b1, %down, %b) norms(%g, %b, %g, %b, %g3, %b) norm<eps = 0.0> {num_heads = 1 : i64, norm_first}
      : (tensor<?x2xf32>, !transformer.sequences, tensor<?x2xf32>, !transformer.sequences,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>,
         tensor<1x2xf32>, tensor<1xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %post, %pre : tensor<?x2xf32>, tensor<?x2xf32>
}
