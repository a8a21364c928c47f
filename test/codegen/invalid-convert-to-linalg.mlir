// RUN: transformer-opt %s --transformer-to-linalg -verify-diagnostics -split-input-file

func.func @composite(%x: tensor<?x4xf32>, %up: tensor<6x4xf32>, %down: tensor<4x6xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{failed to legalize operation 'transformer.feed_forward'}}
  %0 = transformer.feed_forward relu %x weights(%up, %down) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// expected-error @below {{returns sequences; expected results of tensors only}}
func.func @returns_sequences(%x: tensor<?x4xf32>, %seq: !transformer.sequences) -> (tensor<?x4xf32>, !transformer.sequences) {
  return %x, %seq : tensor<?x4xf32>, !transformer.sequences
}

// -----

func.func @selects_sequences(%x: tensor<?x4xf32>, %c: i1, %a: !transformer.sequences, %b: !transformer.sequences) -> tensor<?x4xf32> {
  // expected-error @below {{failed to legalize operation 'arith.select'}}
  %s = arith.select %c, %a, %b : !transformer.sequences
  %0 = transformer.first_token %x, %s : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
