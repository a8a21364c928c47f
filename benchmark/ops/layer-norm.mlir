// $copies layer norms of [tokens, $K] in a row.
transformer.parameter @table : tensor<64x${K}xf32>
transformer.parameter @gamma : tensor<${K}xf32>
transformer.parameter @beta : tensor<${K}xf32>
func.func @forward(%ids: tensor<?xi64> {transformer.name = "ids", transformer.dims = ["tokens"], transformer.range = array<i64: 0, 64>})
    -> (tensor<?x${K}xf32> {transformer.name = "y", transformer.dims = ["tokens"]}) attributes {transformer.entry} {
  %t = transformer.get_parameter @table : tensor<64x${K}xf32>
  %g = transformer.get_parameter @gamma : tensor<${K}xf32>
  %b = transformer.get_parameter @beta : tensor<${K}xf32>
  %x0 = transformer.embedding %ids, %t : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  // repeat
  %x$next = transformer.layer_norm %x$i, %g, %b norm<eps = 1.0e-12>
      : tensor<?x${K}xf32>, tensor<${K}xf32>, tensor<${K}xf32> -> tensor<?x${K}xf32>
  // end
  return %x$copies : tensor<?x${K}xf32>
}
