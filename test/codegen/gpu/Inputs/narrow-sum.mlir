func.func @sum(%w: tensor<5x33xf32>) -> tensor<5x33xf32> {
  %q = transformer.quantize_weight bf16 %w out_in : tensor<5x33xf32>
  %r = arith.addf %q, %q : tensor<5x33xf32>
  return %r : tensor<5x33xf32>
}
