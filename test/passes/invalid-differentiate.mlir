// RUN: transformer-opt %s --split-input-file --transformer-differentiate --verify-diagnostics

transformer.parameter @w : tensor<8x4xf32>
transformer.parameter @table : tensor<5x2xf32>

// What flows back to an operand has to be known.
func.func @loss(%ids: tensor<?xi64>, %labels: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<8x4xf32>
  %table = transformer.get_parameter @table : tensor<5x2xf32>
  %x = transformer.embedding %ids, %w : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  %turns = transformer.embedding %ids, %table : tensor<?xi64>, tensor<5x2xf32> -> tensor<?x2xf32>
  // expected-error @below {{'transformer.rotary_embedding' op has no backward of its operand 1, which depends on a parameter that is trained}}
  %y = transformer.rotary_embedding %x, %turns {num_heads = 2 : i64} : tensor<?x4xf32>, tensor<?x2xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

transformer.parameter @w : tensor<8x4xf32>
transformer.parameter frozen @table : tensor<5x2xf32>

// Of a frozen parameter nothing is asked, nor of the number of rows.
func.func @loss(%ids: tensor<?xi64>, %labels: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<8x4xf32>
  %table = transformer.get_parameter @table : tensor<5x2xf32>
  %x = transformer.embedding %ids, %w : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  %turns = transformer.embedding %ids, %table : tensor<?xi64>, tensor<5x2xf32> -> tensor<?x2xf32>
  %y = transformer.rotary_embedding %x, %turns {num_heads = 2 : i64} : tensor<?x4xf32>, tensor<?x2xf32>
  %zero = arith.constant 0 : index
  %rows = tensor.dim %y, %zero : tensor<?x4xf32>
  %one = arith.constant 1.0 : f32
  %ones = tensor.splat %one[%rows] : tensor<?x4xf32>
  %z = arith.mulf %y, %ones : tensor<?x4xf32>
  %loss = transformer.cross_entropy %z, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

transformer.parameter @w : tensor<8x4xf32>

func.func @loss(%ids: tensor<?xi64>, %labels: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<8x4xf32>
  %x = transformer.embedding %ids, %w : tensor<?xi64>, tensor<8x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{has no backward, and the loss depends on it}}
  %y = math.absf %x : tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
