// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 3 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_heads that divides the width 8, found 0}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 0 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 3}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 4 : i64, num_kv_heads = 3 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 0}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 4 : i64, num_kv_heads = 0 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected keys of width 4, found 8}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x4xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected values of width 8, found 4}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 8, found 4}}
  %0 = transformer.attention %q, %k, %v sequences(%s, %s) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a log_sum_exp of width 2, found 8}}
  %0, %1 = transformer.attention %q, %q, %q sequences(%s, %s) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %b: tensor<2x4xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a position_bias of 2 heads, [heads] or [heads, P] with an odd P, found 'tensor<2x4xf32>'}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) position_bias(%b : tensor<2x4xf32>) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %b: tensor<3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a position_bias of 2 heads}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) position_bias(%b : tensor<3xf32>) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// expected-error @below {{expected a window >= 0, found -1}}
func.func private @f() attributes {test.a = #transformer.attention_options<window = -1>}

// -----

// expected-error @below {{'causal' is given twice}}
func.func private @f() attributes {test.a = #transformer.attention_options<causal, causal>}

// -----

// expected-error @below {{expected one of causal, window, dropout, bf16, f16, found 'windows'}}
func.func private @f() attributes {test.a = #transformer.attention_options<windows = 1>}

// -----

// expected-error @below {{expected one of eps, unbiased, eps_outside, found 'epsilon'}}
func.func private @f() attributes {test.a = #transformer.norm<epsilon = 1.0>}

// -----

// expected-error @below {{expected eps}}
func.func private @f() attributes {test.a = #transformer.norm<unbiased>}

// -----

func.func @f(%q: tensor<?x8xf32>, %p: tensor<?x12xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected columns beside query_scores or key_scores}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) query_scores(%p : tensor<?x12xf32>) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %p: tensor<?x12xf32>, %k: tensor<?x10xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected key_scores of width 12, found 10}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) query_scores(%p : tensor<?x12xf32>) key_scores(%k : tensor<?x10xf32>) columns [0] {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %p: tensor<?x12xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected an odd number of columns, found 2}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) query_scores(%p : tensor<?x12xf32>) columns [0, 1] {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %p: tensor<?x12xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected columns in [0, 6), found 6}}
  %0 = transformer.attention %q, %q, %q sequences(%s, %s) query_scores(%p : tensor<?x12xf32>) columns [0, 6, 5] {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %t: tensor<6x8xf32>) {
  // expected-error @below {{expected a result of width 12, found 10}}
  %0 = transformer.relative_scores %q, %t {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x10xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %t: tensor<6x8xf32>) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  %0 = transformer.relative_scores %q, %t {num_heads = 3 : i64} : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x18xf32>
  return
}
