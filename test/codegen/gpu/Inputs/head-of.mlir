// Heads of HEAD numbers with everything that attention may have: a window, a table and a slope of distances, dropout;
// three heads share their keys. WIDTH is three heads.
transformer.parameter @q : tensor<7xWIDTHxf32>
transformer.parameter @k : tensor<7xHEADxf32>
transformer.parameter @v : tensor<7xHEADxf32>
transformer.parameter @table : tensor<3x9xf32>
transformer.parameter @slopes : tensor<3xf32>

func.func @forward(
    %ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 7>, transformer.dims = ["batch", "length"]},
    %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.dims = ["batch", "length"]})
    -> (tensor<?x?xWIDTHxf32> {transformer.name = "y", transformer.dims = ["batch", "length"]})
    attributes {transformer.entry} {
  %key = arith.constant 7 : i64
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %of_q = transformer.get_parameter @q : tensor<7xWIDTHxf32>
  %of_k = transformer.get_parameter @k : tensor<7xHEADxf32>
  %of_v = transformer.get_parameter @v : tensor<7xHEADxf32>
  %table = transformer.get_parameter @table : tensor<3x9xf32>
  %slopes = transformer.get_parameter @slopes : tensor<3xf32>
  %q = transformer.embedding %i, %of_q : tensor<?xi64>, tensor<7xWIDTHxf32> -> tensor<?xWIDTHxf32>
  %k = transformer.embedding %i, %of_k : tensor<?xi64>, tensor<7xHEADxf32> -> tensor<?xHEADxf32>
  %v = transformer.embedding %i, %of_v : tensor<?xi64>, tensor<7xHEADxf32> -> tensor<?xHEADxf32>
  %a = transformer.attention %q, %k, %v sequences(%seq, %seq) options<causal, window = 9>
      {num_heads = 3 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?xWIDTHxf32>, tensor<?xHEADxf32>, tensor<?xHEADxf32> -> tensor<?xWIDTHxf32>
  %b = transformer.attention %a, %k, %v sequences(%seq, %seq) position_bias(%table : tensor<3x9xf32>) options<window = 9>
      {num_heads = 3 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?xWIDTHxf32>, tensor<?xHEADxf32>, tensor<?xHEADxf32> -> tensor<?xWIDTHxf32>
  %c = transformer.attention %b, %k, %v sequences(%seq, %seq) position_bias(%slopes : tensor<3xf32>) options<causal>
      {num_heads = 3 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?xWIDTHxf32>, tensor<?xHEADxf32>, tensor<?xHEADxf32> -> tensor<?xWIDTHxf32>
  %d = transformer.attention %c, %k, %v sequences(%seq, %seq) dropout_key(%key) options<causal, window = 9, dropout = 0.1>
      {num_heads = 3 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?xWIDTHxf32>, tensor<?xHEADxf32>, tensor<?xHEADxf32> -> tensor<?xWIDTHxf32>
  %y = transformer.unpack_tokens %d, %seq : tensor<?xWIDTHxf32> -> tensor<?x?xWIDTHxf32>
  return %y : tensor<?x?xWIDTHxf32>
}
