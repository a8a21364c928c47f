// What the models of the ops do besides the op: $copies gathers of rows [tokens, $K].
// repeat
transformer.parameter @table$i : tensor<64x${K}xf32>
// end
func.func @forward(%ids: tensor<?xi64> {transformer.name = "ids", transformer.dims = ["tokens"], transformer.range = array<i64: 0, 64>}) -> (
  // repeat,
  tensor<?x${K}xf32> {transformer.name = "y$i", transformer.dims = ["tokens"]}
  // end
) attributes {transformer.entry} {
  // repeat
  %t$i = transformer.get_parameter @table$i : tensor<64x${K}xf32>
  %x$i = transformer.embedding %ids, %t$i : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  // end
  return
  // repeat,
  %x$i
  // end
  :
  // repeat,
  tensor<?x${K}xf32>
  // end
}
