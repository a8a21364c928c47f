// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x5xf32>) {
  // expected-error @below {{weight of layout out_in takes rows of width 5, found width 4}}
  %0 = transformer.linear %x, %w out_in : tensor<?x4xf32>, tensor<6x5xf32> -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @below {{weight of layout in_out takes rows of width 6, found width 4}}
  %0 = transformer.linear %x, %w in_out : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected weight bias of width 6, found 4}}
  %0 = transformer.linear %x, %w bias(%b : tensor<4xf32>) out_in : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @below {{expected a result of width 6, found 4}}
  %0 = transformer.linear %x, %w out_in : tensor<?x4xf32>, tensor<6x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{expected results whose widths add up to 4, found 3}}
  %0, %1 = transformer.split %x : tensor<?x4xf32> -> tensor<?x1xf32>, tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 0.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected gamma of width 4, found 3}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 0.0> : tensor<?x4xf32>, tensor<3xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{expected beta of width 4, found 3}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 0.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<3xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected eps >= 0, found}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = -1.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected eps >= 0, found}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 0x7FF8000000000000> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x1xf32>, %g: tensor<1xf32>, %b: tensor<1xf32>) {
  // expected-error @below {{an unbiased variance needs a width of at least 2, found 1}}
  %0 = transformer.layer_norm %x, %g, %b norm<eps = 0.0, unbiased> : tensor<?x1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %r: tensor<?x3xf32>) {
  // expected-error @below {{expected a residual of width 4, found 3}}
  %0 = transformer.residual_layer_norm %x, %r, %g, %b norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.residual_layer_norm %x, %x, %g, %b norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected a sum of width 4, found 3}}
  %0, %1 = transformer.residual_layer_norm %x, %x, %g, %b norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "transformer.activation"(%x) {kind = #transformer<activation gelu>} : (tensor<?x4xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{expected gamma of width 4, found 3}}
  %0 = transformer.rms_norm %x, %g norm<eps = 0.0> : tensor<?x4xf32>, tensor<3xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<2xf32>) {
  // expected-error @below {{expected num_heads that divides the width 4, found 3}}
  %0 = transformer.rms_norm %x, %g norm<eps = 0.0> {num_heads = 3 : i64} : tensor<?x4xf32>, tensor<2xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{a root mean square takes eps alone}}
  %0 = transformer.rms_norm %x, %g norm<eps = 0.0, unbiased> : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %r: tensor<?x3xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{expected a residual of width 4, found 3}}
  %0 = transformer.residual_rms_norm %x, %r, %g norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x3xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %y: tensor<?x2xf32>) {
  // expected-error @below {{expected labels like x, 'tensor<?x3xf32>', found 'tensor<?x2xf32>'}}
  %0 = transformer.element_loss squared %x, %y : tensor<?x3xf32>, tensor<?x2xf32> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %y: tensor<?xf32>, %d: tensor<f32>) {
  // expected-error @below {{expected labels like x, 'tensor<?x3xf32>', found 'tensor<?xf32>'}}
  %0 = transformer.element_loss_gradient squared %x, %y, %d : tensor<?x3xf32>, tensor<?xf32>, tensor<f32>
  return
}

// -----

func.func @f(%ids: tensor<?xi64>, %dy: tensor<?x4xf32>, %other: tensor<6x4xf32>) {
  // expected-error @below {{expected an onto of the result's type, 'tensor<5x4xf32>', found 'tensor<6x4xf32>'}}
  %0 = transformer.embedding_gradient %ids, %dy onto(%other) : tensor<?xi64>, tensor<?x4xf32>, tensor<6x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %gamma: tensor<4xf32>, %other: tensor<?x5xf32>) {
  // expected-error @below {{expected an onto of the result's type, 'tensor<?x4xf32>', found 'tensor<?x5xf32>'}}
  %0:3 = transformer.layer_norm_gradient %x, %gamma, %x onto(%other) norm<eps = 0.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %gamma: tensor<4xf32>, %other: tensor<?x5xf32>) {
  // expected-error @below {{expected an onto of the result's type, 'tensor<?x4xf32>', found 'tensor<?x5xf32>'}}
  %0:2 = transformer.rms_norm_gradient %x, %gamma, %x onto(%other) norm<eps = 0.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<?x2xf32>, %seq: !transformer.sequences, %at: tensor<?xi64>) {
  // expected-error @below {{expected a column in [0, 2), found 2}}
  %0 = transformer.span_loss %x, %seq, %at column 2 : tensor<?x2xf32>, tensor<?xi64> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<?x2xf32>, %seq: !transformer.sequences, %at: tensor<?xi64>, %d: tensor<f32>) {
  // expected-error @below {{expected a column in [0, 2), found -1}}
  %0 = transformer.span_loss_gradient %x, %seq, %at, %d column -1 : tensor<?x2xf32>, tensor<?xi64>, tensor<f32>
  return
}

// -----

func.func @rows_of_int4(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{expected bf16, f16, tf32 or int8, found int4}}
  %0 = transformer.quantize_rows int4 %x : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
