// RUN: transformer-opt %s --transformer-to-linalg | FileCheck %s

// Two calls of a layer, 2 * 8 * 24 for its linear; 2 * 8 * 8 for the head of
// each sequence. A pair of tokens costs 2 * 8 for its score and
// 2 * 8 for its value.
// CHECK-LABEL: @forward(
// CHECK-SAME: transformer.flops = {attention = [{causal = true, keys = "attention_mask", per_pair = 64 : i64, queries = "attention_mask"}], per_sequence_of = {attention_mask = 128 : i64}, per_token_of = {attention_mask = 768 : i64}}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"}) -> tensor<?x8xf32> attributes {transformer.entry} {
  %0, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x8xf32>
  %w = transformer.get_parameter @w : tensor<24x8xf32>
  %head = transformer.get_parameter @head : tensor<8x8xf32>
  %1 = transformer.embedding %0, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %2 = call @layer(%1, %seq, %w) : (tensor<?x8xf32>, !transformer.sequences, tensor<24x8xf32>) -> tensor<?x8xf32>
  %3 = call @layer(%2, %seq, %w) : (tensor<?x8xf32>, !transformer.sequences, tensor<24x8xf32>) -> tensor<?x8xf32>
  %4 = transformer.first_token %3, %seq : tensor<?x8xf32> -> tensor<?x8xf32>
  %5 = transformer.linear %4, %head out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

// Queries of one mask, keys of another, each with its tokens.
// CHECK-LABEL: @cross(
// CHECK-SAME: transformer.flops = {attention = [{causal = false, keys = "attention_mask", per_pair = 32 : i64, queries = "decoder_attention_mask"}], per_token_of = {attention_mask = 384 : i64}}
func.func @cross(%ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"},
                 %decoder_ids: tensor<?x?xi64> {transformer.name = "decoder_input_ids"}, %decoder_mask: tensor<?x?xi64> {transformer.name = "decoder_attention_mask"}) -> tensor<?x?x8xf32> attributes {transformer.entry} {
  %0, %keys = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %1, %queries = transformer.pack_tokens(%decoder_ids) mask(%decoder_mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x8xf32>
  %w = transformer.get_parameter @w : tensor<24x8xf32>
  %x = transformer.embedding %0, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %q = transformer.embedding %1, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %kv = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<24x8xf32> -> tensor<?x24xf32>
  %k, %v, %rest = transformer.split %kv : tensor<?x24xf32> -> tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  %a = transformer.attention %q, %k, %v sequences(%queries, %keys) {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y = transformer.unpack_tokens %a, %queries : tensor<?x8xf32> -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// Of tokens whose label counts there are at most as many as tokens.
// CHECK-LABEL: @labelled(
// CHECK-SAME: transformer.flops = {attention = [], per_token_of = {attention_mask = 128 : i64}}
func.func @labelled(%ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"}, %labels: tensor<?x?xi64> {transformer.name = "labels"}) -> tensor<?x8xf32> attributes {transformer.entry} {
  %0, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %1, %spans = transformer.labelled_tokens %labels, %seq mask(%mask) : tensor<?x?xi64>, tensor<?x?xi64> -> tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x8xf32>
  %head = transformer.get_parameter @head : tensor<8x8xf32>
  %x = transformer.embedding %0, %words : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %rows = transformer.first_token %x, %spans : tensor<?x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %rows, %head out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Only entry points count.
// CHECK-LABEL: func.func private @layer(
// CHECK-NOT: transformer.flops
transformer.parameter @words : tensor<30x8xf32>
transformer.parameter @w : tensor<24x8xf32>
transformer.parameter @head : tensor<8x8xf32>
func.func private @layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences, %w: tensor<24x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<24x8xf32> -> tensor<?x24xf32>
  %q, %k, %v = transformer.split %0 : tensor<?x24xf32> -> tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  %1 = transformer.attention %q, %k, %v sequences(%seq, %seq) options<causal> {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
