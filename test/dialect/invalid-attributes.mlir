// RUN: transformer-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{default 'not_equal' needs the name of an input}}
func.func private @f(tensor<?x?xi64> {transformer.default = #transformer.default<not_equal>})

// -----

// expected-error @below {{default 'ones' takes no input, found "input_ids"}}
func.func private @f(tensor<?x?xi64> {transformer.default = #transformer.default<ones, "input_ids">})

// -----

// expected-error @below {{attribute '"transformer.default"' must be a #transformer.default}}
func.func private @f(tensor<?x?xi64> {transformer.default = 1})

// -----

// expected-error @below {{attribute '"transformer.name"' must be a string}}
func.func private @f(tensor<?x?xi64> {transformer.name = 1})

// -----

// expected-error @below {{attribute '"transformer.range"' must be array<i64: low, high> with low < high}}
func.func private @f(tensor<?x?xi64> {transformer.range = array<i64: 3, 3>})

// -----

// expected-error @below {{must be array<i64: low, high> with low < high}}
func.func private @f(tensor<?x?xi64> {transformer.range = 3})

// -----

// expected-error @below {{attribute '"transformer.max_length"' must be an integer}}
func.func private @f(tensor<?x?xi64> {transformer.max_length = "a"})

// -----

// expected-error @below {{attribute '"transformer.dims"' must be an array of names}}
func.func private @f(tensor<?x?xi64> {transformer.dims = "batch"})

// -----

// expected-error @below {{attribute '"transformer.dims"' must be an array of names}}
func.func private @f(tensor<?x?xi64> {transformer.dims = ["batch", 3]})

// -----

// expected-error @below {{attribute '"transformer.name"' must be a string}}
func.func private @f() -> (tensor<?xf32> {transformer.name = 1})

// -----

// expected-error @below {{attribute '"transformer.entry"' must be a unit attribute on a function}}
func.func private @f() attributes {transformer.entry = 1}

// -----

// expected-error @below {{attribute '"transformer.entry"' must be a unit attribute on a function}}
transformer.parameter @p : tensor<2xf32> {transformer.entry}

// -----

func.func private @g()
func.func @f() {
  // expected-error @below {{attribute '"transformer.scope"' must be a string}}
  call @g() {transformer.scope = 1} : () -> ()
  return
}

// -----

// expected-error @below {{attribute '"transformer.model_type"' must be a string}}
module attributes {transformer.model_type = 1} {}
