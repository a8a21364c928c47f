// One product of many rows and one of few.
transformer.parameter @w : tensor<512x768xf32>
func.func @linear(%x: tensor<?x768xf32> {transformer.name = "x", transformer.dims = ["rows"]})
    -> (tensor<?x512xf32> {transformer.name = "y", transformer.dims = ["rows"]}) attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<512x768xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x768xf32>, tensor<512x768xf32> -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}
