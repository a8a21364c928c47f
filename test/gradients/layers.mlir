// RUN: split-file %s %t
// RUN: transformer-check-gradients %t/norms.mlir
// RUN: transformer-check-gradients %t/activations.mlir
// RUN: transformer-check-gradients %t/llama.mlir
// RUN: transformer-check-gradients %t/llama.mlir --recompute layer
// RUN: transformer-check-gradients %t/encoder.mlir
// RUN: transformer-check-gradients %t/cross.mlir
// RUN: transformer-check-gradients %t/tokens.mlir
// RUN: transformer-check-gradients %t/twice.mlir
// RUN: transformer-check-gradients %t/twice.mlir --recompute layer
// RUN: not transformer-check-gradients %t/norms.mlir --bound 1e-14 | FileCheck %s
// CHECK: gamma{{.*}} FAILED

//--- norms.mlir
// Every form of a norm; labels that do not count, smoothed ones; both layouts.
transformer.parameter @x : tensor<7x9xf32>
transformer.parameter @gamma0 : tensor<9xf32>
transformer.parameter @beta0 : tensor<9xf32>
transformer.parameter @gamma1 : tensor<9xf32>
transformer.parameter @beta1 : tensor<9xf32>
transformer.parameter @gamma2 : tensor<9xf32>
transformer.parameter @gamma3 : tensor<3xf32>
transformer.parameter @w0 : tensor<6x9xf32>
transformer.parameter @b0 : tensor<6xf32>
transformer.parameter @w1 : tensor<6x5xf32>
transformer.parameter @b1 : tensor<5xf32>
func.func @loss(%labels: tensor<7xi64> {test.value = dense<[0, 4, -100, 2, 2, -100, 1]> : tensor<7xi64>}) -> tensor<f32> {
  %x = transformer.get_parameter @x : tensor<7x9xf32>
  %gamma0 = transformer.get_parameter @gamma0 : tensor<9xf32>
  %beta0 = transformer.get_parameter @beta0 : tensor<9xf32>
  %gamma1 = transformer.get_parameter @gamma1 : tensor<9xf32>
  %beta1 = transformer.get_parameter @beta1 : tensor<9xf32>
  %gamma2 = transformer.get_parameter @gamma2 : tensor<9xf32>
  %gamma3 = transformer.get_parameter @gamma3 : tensor<3xf32>
  %w0 = transformer.get_parameter @w0 : tensor<6x9xf32>
  %b0 = transformer.get_parameter @b0 : tensor<6xf32>
  %w1 = transformer.get_parameter @w1 : tensor<6x5xf32>
  %b1 = transformer.get_parameter @b1 : tensor<5xf32>
  %0 = transformer.layer_norm %x, %gamma0, %beta0 norm<eps = 1.0e-2> : tensor<7x9xf32>, tensor<9xf32>, tensor<9xf32> -> tensor<7x9xf32>
  %1 = transformer.layer_norm %0, %gamma1, %beta1 norm<eps = 1.0e-1, unbiased, eps_outside> : tensor<7x9xf32>, tensor<9xf32>, tensor<9xf32> -> tensor<7x9xf32>
  %2 = transformer.rms_norm %1, %gamma2 norm<eps = 1.0e-2> : tensor<7x9xf32>, tensor<9xf32> -> tensor<7x9xf32>
  %3 = transformer.rms_norm %2, %gamma3 norm<eps = 1.0e-2> {num_heads = 3 : i64} : tensor<7x9xf32>, tensor<3xf32> -> tensor<7x9xf32>
  %4 = transformer.linear %3, %w0 bias(%b0 : tensor<6xf32>) out_in : tensor<7x9xf32>, tensor<6x9xf32> -> tensor<7x6xf32>
  %5 = transformer.linear %4, %w1 bias(%b1 : tensor<5xf32>) in_out : tensor<7x6xf32>, tensor<6x5xf32> -> tensor<7x5xf32>
  %loss = transformer.cross_entropy %5, %labels {label_smoothing = 0.1 : f64} : tensor<7x5xf32>, tensor<7xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- activations.mlir
// Products, differences and columns of rows; a part that nobody reads.
transformer.parameter @x : tensor<6x15xf32>
func.func @loss(%labels: tensor<6xi64> {test.value = dense<[0, 1, 2, 2, 1, 0]> : tensor<6xi64>}) -> tensor<f32> {
  %x = transformer.get_parameter @x : tensor<6x15xf32>
  %a, %b, %c, %d, %unread = transformer.split %x : tensor<6x15xf32> -> tensor<6x3xf32>, tensor<6x3xf32>, tensor<6x3xf32>, tensor<6x3xf32>, tensor<6x3xf32>
  %0 = transformer.activation gelu %a : tensor<6x3xf32>
  %1 = transformer.activation gelu_tanh %b : tensor<6x3xf32>
  %2 = transformer.activation silu %c : tensor<6x3xf32>
  %3 = transformer.activation quick_gelu %d : tensor<6x3xf32>
  %4 = transformer.activation tanh %a : tensor<6x3xf32>
  %5 = transformer.activation relu %b : tensor<6x3xf32>
  %6 = arith.mulf %0, %1 : tensor<6x3xf32>
  %7 = arith.subf %6, %2 : tensor<6x3xf32>
  %8 = arith.addf %7, %3 : tensor<6x3xf32>
  %9 = arith.mulf %4, %5 : tensor<6x3xf32>
  %10 = arith.subf %8, %9 : tensor<6x3xf32>
  %loss = transformer.cross_entropy %10, %labels {ignore_index = 2 : i64} : tensor<6x3xf32>, tensor<6xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- llama.mlir
// A decoder: rotary positions, heads that share keys, a window, a gate, ragged rows, two layers of one function.
transformer.parameter @words : tensor<13x8xf32>
transformer.parameter @gamma : tensor<8xf32>
transformer.parameter @q : tensor<8x8xf32>
transformer.parameter @k : tensor<4x8xf32>
transformer.parameter @v : tensor<4x8xf32>
transformer.parameter @gate : tensor<12x8xf32>
transformer.parameter @up : tensor<12x8xf32>
transformer.parameter @down : tensor<8x12xf32>
transformer.parameter @second : tensor<12x8xf32>
func.func private @layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %table: tensor<?x2xf32>, %gamma: tensor<8xf32>, %q: tensor<8x8xf32>, %k: tensor<4x8xf32>,
                         %v: tensor<4x8xf32>, %gate: tensor<12x8xf32>, %up: tensor<12x8xf32>, %down: tensor<8x12xf32>) -> tensor<?x8xf32> {
  %0 = transformer.rms_norm %x, %gamma norm<eps = 1.0e-2> : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %0, %q out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %2 = transformer.linear %0, %k out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %3 = transformer.linear %0, %v out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %4 = transformer.rotary_embedding %1, %table {num_heads = 4 : i64} : tensor<?x8xf32>, tensor<?x2xf32>
  %5 = transformer.rotary_embedding %2, %table {num_heads = 2 : i64} : tensor<?x4xf32>, tensor<?x2xf32>
  %6 = transformer.attention %4, %5, %3 sequences(%seq, %seq) options<causal, window = 3> {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.7 : f64} : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  %7 = arith.addf %x, %6 : tensor<?x8xf32>
  %8 = transformer.feed_forward silu %7 weights(%gate, %up, %down) out_in : (tensor<?x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<8x12xf32>) -> tensor<?x8xf32>
  %9 = arith.addf %7, %8 : tensor<?x8xf32>
  return %9 : tensor<?x8xf32>
}
func.func @loss(%ids: tensor<3x5xi64> {test.value = dense<[[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [8, 1, 9, 2, 0]]> : tensor<3x5xi64>},
                %mask: tensor<3x5xi64> {test.value = dense<[[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]]> : tensor<3x5xi64>},
                %positions: tensor<11xi64> {test.value = dense<[0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3]> : tensor<11xi64>},
                %labels: tensor<11xi64> {test.value = dense<[2, 3, 4, 5, -100, 7, -100, 1, 9, 2, -100]> : tensor<11xi64>}) -> tensor<f32> {
  %words = transformer.get_parameter @words : tensor<13x8xf32>
  %gamma = transformer.get_parameter @gamma : tensor<8xf32>
  %q = transformer.get_parameter @q : tensor<8x8xf32>
  %k = transformer.get_parameter @k : tensor<4x8xf32>
  %v = transformer.get_parameter @v : tensor<4x8xf32>
  %gate = transformer.get_parameter @gate : tensor<12x8xf32>
  %up = transformer.get_parameter @up : tensor<12x8xf32>
  %down = transformer.get_parameter @down : tensor<8x12xf32>
  %second = transformer.get_parameter @second : tensor<12x8xf32>
  %wide = tensor.cast %ids : tensor<3x5xi64> to tensor<?x?xi64>
  %all = tensor.cast %mask : tensor<3x5xi64> to tensor<?x?xi64>
  %i, %seq = transformer.pack_tokens(%wide) mask(%all) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %p = tensor.cast %positions : tensor<11xi64> to tensor<?xi64>
  %l = tensor.cast %labels : tensor<11xi64> to tensor<?xi64>
  %x = transformer.embedding %i, %words {scale = 1.5 : f64} : tensor<?xi64>, tensor<13x8xf32> -> tensor<?x8xf32>
  %table = transformer.rotary_table %p : tensor<?xi64> -> tensor<?x2xf32>
  %0 = call @layer(%x, %seq, %table, %gamma, %q, %k, %v, %gate, %up, %down) : (tensor<?x8xf32>, !transformer.sequences, tensor<?x2xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<8x12xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %seq, %table, %gamma, %q, %k, %v, %second, %up, %down) : (tensor<?x8xf32>, !transformer.sequences, tensor<?x2xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<8x12xf32>) -> tensor<?x8xf32>
  %2 = transformer.rms_norm %1, %gamma norm<eps = 1.0e-2> : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %3 = transformer.linear %2, %words out_in : tensor<?x8xf32>, tensor<13x8xf32> -> tensor<?x13xf32>
  %loss = transformer.cross_entropy %3, %l : tensor<?x13xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- encoder.mlir
// Attention with a table of distances and with slopes; a sequence that is empty.
transformer.parameter @x : tensor<7x6xf32>
transformer.parameter @bias : tensor<2x5xf32>
transformer.parameter @slopes : tensor<3xf32>
func.func @loss(%mask: tensor<3x4xi64> {test.value = dense<[[1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 1, 1]]> : tensor<3x4xi64>},
                %labels: tensor<7xi64> {test.value = dense<[0, 1, 2, 3, 4, 5, 0]> : tensor<7xi64>}) -> tensor<f32> {
  %rows = transformer.get_parameter @x : tensor<7x6xf32>
  %bias = transformer.get_parameter @bias : tensor<2x5xf32>
  %slopes = transformer.get_parameter @slopes : tensor<3xf32>
  %all = tensor.cast %mask : tensor<3x4xi64> to tensor<?x?xi64>
  %i, %seq = transformer.pack_tokens(%all) mask(%all) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %0 = transformer.attention %rows, %rows, %rows sequences(%seq, %seq) position_bias(%bias : tensor<2x5xf32>) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<7x6xf32>, tensor<7x6xf32>, tensor<7x6xf32> -> tensor<7x6xf32>
  %1 = transformer.attention %0, %rows, %0 sequences(%seq, %seq) position_bias(%slopes : tensor<3xf32>) options<causal> {num_heads = 3 : i64, scale = 0.5 : f64} : tensor<7x6xf32>, tensor<7x6xf32>, tensor<7x6xf32> -> tensor<7x6xf32>
  %loss = transformer.cross_entropy %1, %labels : tensor<7x6xf32>, tensor<7xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- cross.mlir
// Queries and keys of other sequences, one of them without keys.
transformer.parameter @x : tensor<5x4xf32>
transformer.parameter @memory : tensor<4x4xf32>
func.func @loss(%mask: tensor<3x2xi64> {test.value = dense<[[1, 1], [1, 0], [1, 1]]> : tensor<3x2xi64>},
                %keys: tensor<3x3xi64> {test.value = dense<[[1, 1, 1], [0, 0, 0], [0, 1, 0]]> : tensor<3x3xi64>},
                %labels: tensor<5xi64> {test.value = dense<[0, 1, 2, 3, 0]> : tensor<5xi64>}) -> tensor<f32> {
  %rows = transformer.get_parameter @x : tensor<5x4xf32>
  %memory = transformer.get_parameter @memory : tensor<4x4xf32>
  %all = tensor.cast %mask : tensor<3x2xi64> to tensor<?x?xi64>
  %others = tensor.cast %keys : tensor<3x3xi64> to tensor<?x?xi64>
  %i, %seq = transformer.pack_tokens(%all) mask(%all) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %j, %of = transformer.pack_tokens(%others) mask(%others) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %0 = transformer.attention %rows, %memory, %memory sequences(%seq, %of) {num_heads = 2 : i64, scale = 0.9 : f64} : tensor<5x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> -> tensor<5x4xf32>
  %1 = arith.addf %0, %rows : tensor<5x4xf32>
  %loss = transformer.cross_entropy %1, %labels : tensor<5x4xf32>, tensor<5xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- tokens.mlir
// The first and the last token of sequences, of which one is empty; windows of neighbours; weights in
// other shapes and places; a number that all scores are multiplied by.
transformer.parameter @x : tensor<7x4xf32>
transformer.parameter @kernel : tensor<6x4x3xf32>
transformer.parameter @both : tensor<10x4xf32>
func.func @loss(%mask: tensor<3x4xi64> {test.value = dense<[[1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 1, 1]]> : tensor<3x4xi64>},
                %labels: tensor<3xi64> {test.value = dense<[4, 1, 2]> : tensor<3xi64>}) -> tensor<f32> {
  %rows = transformer.get_parameter @x : tensor<7x4xf32>
  %kernel = transformer.get_parameter @kernel : tensor<6x4x3xf32>
  %both = transformer.get_parameter @both : tensor<10x4xf32>
  %factor = arith.constant 0.75 : f32
  %x = tensor.cast %rows : tensor<7x4xf32> to tensor<?x4xf32>
  %all = tensor.cast %mask : tensor<3x4xi64> to tensor<?x?xi64>
  %i, %seq = transformer.pack_tokens(%all) mask(%all) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %windows = transformer.windows %x, %seq -> %seq kernel 3 stride 1 padding 1 : tensor<?x4xf32> -> tensor<?x12xf32>
  %empty = tensor.empty() : tensor<6x3x4xf32>
  %byTime = linalg.transpose ins(%kernel : tensor<6x4x3xf32>) outs(%empty : tensor<6x3x4xf32>) permutation = [0, 2, 1]
  %w = tensor.collapse_shape %byTime [[0], [1, 2]] : tensor<6x3x4xf32> into tensor<6x12xf32>
  %y = transformer.linear %windows, %w out_in : tensor<?x12xf32>, tensor<6x12xf32> -> tensor<?x6xf32>
  %a = transformer.attention %y, %y, %y sequences(%seq, %seq) scale_factor(%factor) {num_heads = 2 : i64, scale = 0.6 : f64} : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32> -> tensor<?x6xf32>
  %first = transformer.first_token %x, %seq : tensor<?x4xf32> -> tensor<?x4xf32>
  %last = transformer.last_token %a, %seq : tensor<?x6xf32> -> tensor<?x6xf32>
  %upper = tensor.extract_slice %both[0, 0] [5, 4] [1, 1] : tensor<10x4xf32> to tensor<5x4xf32>
  %lower = tensor.extract_slice %both[4, 1] [6, 3] [1, 1] : tensor<10x4xf32> to tensor<6x3xf32>
  %flat = tensor.collapse_shape %lower [[0, 1]] : tensor<6x3xf32> into tensor<18xf32>
  %wide = tensor.expand_shape %flat [[0, 1]] output_shape [3, 6] : tensor<18xf32> into tensor<3x6xf32>
  %joined = tensor.concat dim(0) %wide, %wide : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<6x6xf32>
  %0 = transformer.linear %first, %upper out_in : tensor<?x4xf32>, tensor<5x4xf32> -> tensor<?x5xf32>
  %1 = transformer.linear %last, %joined out_in : tensor<?x6xf32>, tensor<6x6xf32> -> tensor<?x6xf32>
  %2, %3 = transformer.split %1 : tensor<?x6xf32> -> tensor<?x5xf32>, tensor<?x1xf32>
  %4 = arith.addf %0, %2 : tensor<?x5xf32>
  %l = tensor.cast %labels : tensor<3xi64> to tensor<?xi64>
  %loss = transformer.cross_entropy %4, %l : tensor<?x5xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- twice.mlir
// A layer that returns a value twice, and what it is given.
transformer.parameter @x : tensor<5x4xf32>
func.func private @layer(%x: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  %0 = transformer.activation gelu %x : tensor<5x4xf32>
  return %0, %x, %0 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
func.func @loss(%labels: tensor<5xi64> {test.value = dense<[0, 1, 2, 3, 0]> : tensor<5xi64>}) -> tensor<f32> {
  %x = transformer.get_parameter @x : tensor<5x4xf32>
  %0, %1, %2 = call @layer(%x) : (tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>)
  %3 = arith.mulf %0, %1 : tensor<5x4xf32>
  %4 = arith.subf %3, %2 : tensor<5x4xf32>
  %loss = transformer.cross_entropy %4, %labels : tensor<5x4xf32>, tensor<5xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
