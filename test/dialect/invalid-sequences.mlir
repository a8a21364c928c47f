// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%m: tensor<?x?xi64>) {
  // expected-error @below {{expected one packed result for each of the 1 inputs, found 2}}
  %0, %1, %s = transformer.pack_tokens(%m) mask(%m) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of rank 3, found 'tensor<?x?xf32>'}}
  %0 = transformer.unpack_tokens %x, %s : tensor<?x3xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of rank 2, found 'tensor<?x?x3xf32>'}}
  %0 = transformer.unpack_tokens %x, %s {column = 0 : i64} : tensor<?x3xf32> -> tensor<?x?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 3, found 2}}
  %0 = transformer.unpack_tokens %x, %s : tensor<?x3xf32> -> tensor<?x?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a column in [0, 3), found 3}}
  %0 = transformer.unpack_tokens %x, %s {column = 3 : i64} : tensor<?x3xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a column in [0, 3), found -1}}
  %0 = transformer.unpack_tokens %x, %s {column = -1 : i64} : tensor<?x3xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 3, found 2}}
  %0 = transformer.first_token %x, %s : tensor<?x3xf32> -> tensor<?x2xf32>
  return
}

// -----

func.func @f(%x: tensor<?x?xf32>, %s: !transformer.sequences) {
  // expected-error @below {{must be 2D tensor of f32 with a static width}}
  %0 = transformer.first_token %x, %s : tensor<?x?xf32> -> tensor<?x2xf32>
  return
}
