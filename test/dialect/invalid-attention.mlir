// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 3 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_heads that divides the width 8, found 0}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 0 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 3}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 4 : i64, num_kv_heads = 3 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 0}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 4 : i64, num_kv_heads = 0 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected keys of width 4, found 8}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x4xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected values of width 8, found 4}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 8, found 4}}
  %0 = transformer.attention %q, %k, %v sequences(%s) {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{causal attention takes no memory}}
  %0 = transformer.attention %q, %k, %v sequences(%s) memory(%s) {num_heads = 2 : i64, causal, scale = 1.0 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}
