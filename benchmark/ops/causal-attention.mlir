// $copies causal attentions in a row, $heads heads of ${head_dim}: the result of one is the query of the next.
transformer.parameter @table_q : tensor<64x${K}xf32>
transformer.parameter @table_k : tensor<64x${K}xf32>
transformer.parameter @table_v : tensor<64x${K}xf32>
func.func @forward(
    %input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 64>},
    %attention_mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<ones>})
    -> (tensor<?x?x${K}xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %ids, %seq = transformer.pack_tokens(%input_ids) mask(%attention_mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %tq = transformer.get_parameter @table_q : tensor<64x${K}xf32>
  %tk = transformer.get_parameter @table_k : tensor<64x${K}xf32>
  %tv = transformer.get_parameter @table_v : tensor<64x${K}xf32>
  %x0 = transformer.embedding %ids, %tq : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  %k = transformer.embedding %ids, %tk : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  %v = transformer.embedding %ids, %tv : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  // repeat
  %x$next = transformer.attention %x$i, %k, %v sequences(%seq, %seq) options<causal> {num_heads = $heads : i64, scale = 0.125 : f64}
      : tensor<?x${K}xf32>, tensor<?x${K}xf32>, tensor<?x${K}xf32> -> tensor<?x${K}xf32>
  // end
  %y = transformer.unpack_tokens %x$copies, %seq : tensor<?x${K}xf32> -> tensor<?x?x${K}xf32>
  return %y : tensor<?x?x${K}xf32>
}
