// RUN: transformer-opt %s -split-input-file -verify-diagnostics

func.func @f(%k: tensor<?x8xf32>, %c: tensor<?x63x8xf32>, %t: tensor<?x?xi64>, %l: tensor<?xi64>, %s: !transformer.sequences) {
  // expected-error @below {{expected a cache whose pages hold as many keys as values, found 'tensor<?x63x8xf32>'}}
  %0 = transformer.append_pages %k, %k, %c sequences(%s) pages(%t : tensor<?x?xi64>, %l : tensor<?xi64>) {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x63x8xf32>
  return
}

// -----

func.func @f(%k: tensor<?x8xf32>, %c: tensor<?x64x4xf32>, %t: tensor<?x?xi64>, %l: tensor<?xi64>, %s: !transformer.sequences) {
  // expected-error @below {{expected a cache of width 8, found 4}}
  %0 = transformer.append_pages %k, %k, %c sequences(%s) pages(%t : tensor<?x?xi64>, %l : tensor<?xi64>) {num_heads = 2 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x64x4xf32>
  return
}

// -----

func.func @f(%k: tensor<?x8xf32>, %c: tensor<?x64x8xf32>, %t: tensor<?x?xi64>, %l: tensor<?xi64>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_heads that divides the width 8, found 3}}
  %0 = transformer.append_pages %k, %k, %c sequences(%s) pages(%t : tensor<?x?xi64>, %l : tensor<?xi64>) {num_heads = 3 : i64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x64x8xf32>
  return
}

// -----

func.func @f(%q: tensor<?x16xf32>, %c: tensor<?x64x8xf32>, %t: tensor<?x?xi64>, %l: tensor<?xi64>, %s: !transformer.sequences) {
  // expected-error @below {{expected a cache of width 4, found 8}}
  %0 = transformer.paged_attention %q, %c sequences(%s) pages(%t : tensor<?x?xi64>, %l : tensor<?xi64>) {num_heads = 4 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x16xf32>, tensor<?x64x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @f(%q: tensor<?x16xf32>, %c: tensor<?x64x8xf32>, %t: tensor<?x?xi64>, %l: tensor<?xi64>, %s: !transformer.sequences) {
  // expected-error @below {{expected num_kv_heads that divides num_heads = 4, found 3}}
  %0 = transformer.paged_attention %q, %c sequences(%s) pages(%t : tensor<?x?xi64>, %l : tensor<?xi64>) {num_heads = 4 : i64, num_kv_heads = 3 : i64, scale = 1.0 : f64} : tensor<?x16xf32>, tensor<?x64x8xf32> -> tensor<?x16xf32>
  return
}
