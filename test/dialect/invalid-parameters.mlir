// RUN: transformer-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expected a name, found an empty one}}
transformer.parameter @"" : tensor<2xf32>

// -----

// expected-error @below {{attribute 'type' failed to satisfy constraint}}
transformer.parameter @p : tensor<?xf32>

// -----

// expected-error @below {{attribute 'type' failed to satisfy constraint}}
transformer.parameter @p : tensor<2xf16>

// -----

transformer.parameter @p : tensor<2xf32>
func.func @f() {
  // expected-error @below {{parameter @p has type 'tensor<2xf32>', but the result has type 'tensor<3xf32>'}}
  %0 = transformer.get_parameter @p : tensor<3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a parameter @p, found none}}
  %0 = transformer.get_parameter @p : tensor<3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a parameter @f, found another symbol}}
  %0 = transformer.get_parameter @f : tensor<3xf32>
  return
}

// -----

// expected-error @below {{expected a function @nothing, found none}}
transformer.prepared @p = @nothing() : tensor<2xf32>

// -----

func.func private @f() -> tensor<3xf32>
// expected-error @below {{expected @f to take 0 sources and to return 'tensor<2xf32>', found '() -> tensor<3xf32>'}}
transformer.prepared @p = @f() : tensor<2xf32>

// -----

func.func private @f() -> tensor<2xf32>
transformer.parameter @w : tensor<2xf32>
// expected-error @below {{expected @f to take 1 sources and to return 'tensor<2xf32>'}}
transformer.prepared @p = @f(@w) : tensor<2xf32>

// -----

func.func private @f(tensor<3xf32>) -> tensor<2xf32>
transformer.parameter @w : tensor<2xf32>
// expected-error @below {{source @w has type 'tensor<2xf32>', but @f takes 'tensor<3xf32>'}}
transformer.prepared @p = @f(@w) : tensor<2xf32>

// -----

func.func private @f(tensor<3xf32>) -> tensor<2xf32>
// expected-error @below {{expected a parameter @w, found none}}
transformer.prepared @p = @f(@w) : tensor<2xf32>

// -----

// expected-error @below {{init 'normal' needs a value}}
transformer.parameter @p : tensor<2xf32> init(#transformer.init<normal>)

// -----

// expected-error @below {{init 'zeros' takes no value, found 1.0}}
transformer.parameter @p : tensor<2xf32> init(#transformer.init<zeros, 1.0 : f64>)

// -----

// expected-error @below {{init 'sinusoids' needs a value > 0}}
transformer.parameter @p : tensor<2x4xf32> init(#transformer.init<sinusoids, 0.0 : f64>)

// -----

// expected-error @below {{expected zero_row >= 0, found -1}}
transformer.parameter @p : tensor<2x4xf32> init(#transformer.init<normal, 1.0 : f64, zero_row = -1>)

// -----

// expected-error @below {{expected zero_row >= 0, found -1}}
transformer.parameter @p : tensor<2x4xf32> init(#transformer.init<normal, 1.0 : f64, zero_row = -1>)

// -----

// expected-error @below {{expected a zero_row that its type 'tensor<2x4xf32>' has, found 2}}
transformer.parameter @p : tensor<2x4xf32> init(#transformer.init<normal, 1.0 : f64, zero_row = 2>)

// -----

// expected-error @below {{expected two dimensions or more for init 'xavier_uniform', found 'tensor<2xf32>'}}
transformer.parameter @p : tensor<2xf32> init(#transformer.init<xavier_uniform>)

// -----

// expected-error @below {{expected two dimensions for init 'sinusoids', found 'tensor<2xf32>'}}
transformer.parameter @p : tensor<2xf32> init(#transformer.init<sinusoids, 1.0 : f64>)

// -----

// expected-error @below {{init 'uniform' needs a value >= 0, found -1.0}}
transformer.parameter @p : tensor<2xf32> init(#transformer.init<uniform, -1.0 : f64>)

// -----

transformer.parameter @w : tensor<2xf32>
func.func private @f(%w: tensor<2xf32>) -> tensor<2xf32> {
  return %w : tensor<2xf32>
}
// expected-error @below {{expected source @q to be prepared before it}}
transformer.prepared @p = @f(@q) : tensor<2xf32>
transformer.prepared @q = @f(@w) : tensor<2xf32>

// -----

// expected-error @below {{attribute 'type' failed to satisfy constraint: type attribute of tensor of f32 with a static shape, not empty}}
transformer.parameter @none : tensor<0x32xf32>
