// $copies linear layers [tokens, $K] -> [tokens, $N], each with an input and a weight of its own.
// The rows come from small tables: entry points take ids. ops/rows.mlir is what that costs.
// repeat
transformer.parameter @table$i : tensor<64x${K}xf32>
transformer.parameter @weight$i : tensor<${N}x${K}xf32>
transformer.parameter @bias$i : tensor<${N}xf32>
// end
func.func @forward(%ids: tensor<?xi64> {transformer.name = "ids", transformer.dims = ["tokens"], transformer.range = array<i64: 0, 64>}) -> (
  // repeat,
  tensor<?x${N}xf32> {transformer.name = "y$i", transformer.dims = ["tokens"]}
  // end
) attributes {transformer.entry} {
  // repeat
  %t$i = transformer.get_parameter @table$i : tensor<64x${K}xf32>
  %w$i = transformer.get_parameter @weight$i : tensor<${N}x${K}xf32>
  %b$i = transformer.get_parameter @bias$i : tensor<${N}xf32>
  %x$i = transformer.embedding %ids, %t$i : tensor<?xi64>, tensor<64x${K}xf32> -> tensor<?x${K}xf32>
  %y$i = transformer.linear %x$i, %w$i bias(%b$i : tensor<${N}xf32>) out_in
      : tensor<?x${K}xf32>, tensor<${N}x${K}xf32> -> tensor<?x${N}xf32>
  // end
  return
  // repeat,
  %y$i
  // end
  :
  // repeat,
  tensor<?x${N}xf32>
  // end
}
