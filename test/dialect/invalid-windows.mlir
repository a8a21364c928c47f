// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<?x3xf32>) {
  // expected-error @below {{expected length >= 1, found 0}}
  %0 = transformer.uniform_sequences %x length 0 : tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x?x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected x of static sizes behind the batch, found 'tensor<?x3x?x8xf32>'}}
  %0 = transformer.patches %x, %s sizes [2, 2] first 0 : tensor<?x3x?x8xf32> -> tensor<?x12xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x8x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected 2 sizes, found 1}}
  %0 = transformer.patches %x, %s sizes [2] first 0 : tensor<?x3x8x8xf32> -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x8x6xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected sizes in [1, 6], found 8}}
  %0 = transformer.patches %x, %s sizes [8, 8] first 0 : tensor<?x3x8x6xf32> -> tensor<?x192xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected first >= 0, found -1}}
  %0 = transformer.patches %x, %s sizes [2] first -1 : tensor<?x3x8xf32> -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3x8xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 6, found 5}}
  %0 = transformer.patches %x, %s sizes [2] first 0 : tensor<?x3x8xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected kernel >= 1, stride >= 1 and padding >= 0, found 3, 0 and 1}}
  %0 = transformer.windows %x, %s -> %s kernel 3 stride 0 padding 1 : tensor<?x3xf32> -> tensor<?x9xf32>
  return
}

// -----

func.func @f(%x: tensor<?x3xf32>, %s: !transformer.sequences) {
  // expected-error @below {{expected a result of width 9, found 8}}
  %0 = transformer.windows %x, %s -> %s kernel 3 stride 1 padding 1 : tensor<?x3xf32> -> tensor<?x8xf32>
  return
}
