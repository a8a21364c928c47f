// REQUIRES: transformer-verify
// Compiled programs beside the reference interpreter: widths that no vector and
// no panel divides; no tokens, one, fewer than a register tile has rows, many.
// RUN: python3 %source_root/examples/random_weights.py %s %t
// RUN: python3 %S/Inputs/make_inputs.py %t/none.safetensors 30 4 0 0
// RUN: python3 %S/Inputs/make_inputs.py %t/one.safetensors 30 4 0 1 0
// RUN: python3 %S/Inputs/make_inputs.py %t/few.safetensors 30 9 3 2
// RUN: python3 %S/Inputs/make_inputs.py %t/many.safetensors 30 300 271 0 1 64 300
// DEFINE: %{arch} = native/no-winograd
// DEFINE: %{verify} = transformer-verify %s --weights %t --bound 2e-6 --arch %{arch}
// RUN: %{verify} --entry forward,attend --inputs %t/none.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/one.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/few.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/many.safetensors | FileCheck %s
// By pairs of products, on whatever machine this is.
// REDEFINE: %{arch} = native/winograd
// RUN: %{verify} --entry forward,attend --inputs %t/none.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/one.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/few.safetensors | FileCheck %s
// RUN: %{verify} --entry forward,attend --inputs %t/many.safetensors | FileCheck %s

// CHECK: w17: largest error
// CHECK: w33: largest error
// CHECK: w1: largest error
// CHECK: first: largest error
// CHECK: start: largest error
// CHECK: attention: largest error
// CHECK: normed: largest error
// CHECK-NOT: difference

transformer.parameter @words : tensor<30x5xf32>
transformer.parameter @w17 : tensor<17x5xf32>
transformer.parameter @v17 : tensor<17x5xf32>
transformer.parameter @b17 : tensor<17xf32>
transformer.parameter @w33 : tensor<17x33xf32>
transformer.parameter @b33 : tensor<33xf32>
transformer.parameter @w32 : tensor<32x33xf32>
transformer.parameter @r32 : tensor<32x17xf32>
transformer.parameter @w1 : tensor<1x32xf32>
transformer.parameter @from1 : tensor<5x1xf32>
transformer.parameter @positions : tensor<300x33xf32>
transformer.parameter @words33 : tensor<30x33xf32>
transformer.parameter @q : tensor<66x33xf32>
transformer.parameter @k : tensor<33x33xf32>
transformer.parameter @qb : tensor<66xf32>

// Linears: a sum of two, an activation behind one, a residual in panels and
// one that is not, a width of one; rows of sequences.
func.func @forward(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 30>}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"})
    -> (tensor<?x?x17xf32> {transformer.name = "w17"}, tensor<?x?x33xf32> {transformer.name = "w33"}, tensor<?x?x1xf32> {transformer.name = "w1"},
        tensor<?x5xf32> {transformer.name = "first", transformer.dims = ["batch"]}, tensor<?x?xf32> {transformer.name = "start"}) attributes {transformer.entry} {
  %ids, %seq = transformer.pack_tokens(%input_ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x5xf32>
  %w17 = transformer.get_parameter @w17 : tensor<17x5xf32>
  %v17 = transformer.get_parameter @v17 : tensor<17x5xf32>
  %b17 = transformer.get_parameter @b17 : tensor<17xf32>
  %w33 = transformer.get_parameter @w33 : tensor<17x33xf32>
  %b33 = transformer.get_parameter @b33 : tensor<33xf32>
  %w32 = transformer.get_parameter @w32 : tensor<32x33xf32>
  %r32 = transformer.get_parameter @r32 : tensor<32x17xf32>
  %w1 = transformer.get_parameter @w1 : tensor<1x32xf32>
  %from1 = transformer.get_parameter @from1 : tensor<5x1xf32>
  %x = transformer.embedding %ids, %words {scale = 3.0 : f64} : tensor<?xi64>, tensor<30x5xf32> -> tensor<?x5xf32>
  %0 = transformer.linear %x, %w17 bias(%b17 : tensor<17xf32>) out_in : tensor<?x5xf32>, tensor<17x5xf32> -> tensor<?x17xf32>
  %1 = transformer.linear %x, %v17 out_in : tensor<?x5xf32>, tensor<17x5xf32> -> tensor<?x17xf32>
  %2 = arith.addf %0, %1 : tensor<?x17xf32>
  %3 = transformer.linear %2, %w33 bias(%b33 : tensor<33xf32>) in_out : tensor<?x17xf32>, tensor<17x33xf32> -> tensor<?x33xf32>
  %4 = transformer.activation gelu %3 : tensor<?x33xf32>
  %5 = transformer.linear %4, %w32 out_in : tensor<?x33xf32>, tensor<32x33xf32> -> tensor<?x32xf32>
  %6 = transformer.linear %2, %r32 out_in : tensor<?x17xf32>, tensor<32x17xf32> -> tensor<?x32xf32>
  %7 = transformer.activation silu %6 : tensor<?x32xf32>
  %8 = arith.addf %5, %7 : tensor<?x32xf32>
  %9 = transformer.linear %8, %w1 out_in : tensor<?x32xf32>, tensor<1x32xf32> -> tensor<?x1xf32>
  %10 = transformer.linear %9, %from1 out_in : tensor<?x1xf32>, tensor<5x1xf32> -> tensor<?x5xf32>
  %11 = arith.mulf %10, %x : tensor<?x5xf32>
  %12 = transformer.first_token %11, %seq : tensor<?x5xf32> -> tensor<?x5xf32>
  %y17 = transformer.unpack_tokens %2, %seq : tensor<?x17xf32> -> tensor<?x?x17xf32>
  %y33 = transformer.unpack_tokens %4, %seq : tensor<?x33xf32> -> tensor<?x?x33xf32>
  %y1 = transformer.unpack_tokens %9, %seq : tensor<?x1xf32> -> tensor<?x?x1xf32>
  %start = transformer.unpack_tokens %8, %seq {column = 31 : i64} : tensor<?x32xf32> -> tensor<?x?xf32>
  return %y17, %y33, %y1, %12, %start : tensor<?x?x17xf32>, tensor<?x?x33xf32>, tensor<?x?x1xf32>, tensor<?x5xf32>, tensor<?x?xf32>
}

// Grouped heads of width 11, causal; norms with and without a residual.
func.func @attend(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 30>}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"},
                  %position_ids: tensor<?x?xi64> {transformer.name = "position_ids", transformer.default = #transformer.default<columns>, transformer.range = array<i64: 0, 300>})
    -> (tensor<?x?x66xf32> {transformer.name = "attention"}, tensor<?x?x33xf32> {transformer.name = "normed"}) attributes {transformer.entry} {
  %ids, %places, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %words = transformer.get_parameter @words33 : tensor<30x33xf32>
  %positions = transformer.get_parameter @positions : tensor<300x33xf32>
  %wq = transformer.get_parameter @q : tensor<66x33xf32>
  %qb = transformer.get_parameter @qb : tensor<66xf32>
  %wk = transformer.get_parameter @k : tensor<33x33xf32>
  %b = transformer.get_parameter @b33 : tensor<33xf32>
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<30x33xf32> -> tensor<?x33xf32>
  %p = transformer.embedding %places, %positions : tensor<?xi64>, tensor<300x33xf32> -> tensor<?x33xf32>
  %s = arith.addf %e, %p : tensor<?x33xf32>
  %x = transformer.layer_norm %s, %b, %b norm<eps = 1.0e-5> : tensor<?x33xf32>, tensor<33xf32>, tensor<33xf32> -> tensor<?x33xf32>
  %q = transformer.linear %x, %wq bias(%qb : tensor<66xf32>) out_in : tensor<?x33xf32>, tensor<66x33xf32> -> tensor<?x66xf32>
  %k = transformer.linear %x, %wk bias(%b : tensor<33xf32>) out_in : tensor<?x33xf32>, tensor<33x33xf32> -> tensor<?x33xf32>
  %a = transformer.attention %q, %k, %x sequences(%seq, %seq) options<causal> {num_heads = 6 : i64, num_kv_heads = 3 : i64, scale = 0.3 : f64} : tensor<?x66xf32>, tensor<?x33xf32>, tensor<?x33xf32> -> tensor<?x66xf32>
  %d = arith.addf %x, %k : tensor<?x33xf32>
  %n = transformer.layer_norm %d, %b, %b norm<eps = 1.0e-5, unbiased, eps_outside> : tensor<?x33xf32>, tensor<33xf32>, tensor<33xf32> -> tensor<?x33xf32>
  %m = arith.addf %n, %d : tensor<?x33xf32>
  %y = transformer.unpack_tokens %a, %seq : tensor<?x66xf32> -> tensor<?x?x66xf32>
  %z = transformer.unpack_tokens %m, %seq : tensor<?x33xf32> -> tensor<?x?x33xf32>
  return %y, %z : tensor<?x?x66xf32>, tensor<?x?x33xf32>
}
