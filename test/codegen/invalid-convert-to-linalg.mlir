// RUN: transformer-opt %s --transformer-to-linalg -verify-diagnostics -split-input-file

func.func @composite(%x: tensor<?x4xf32>, %up: tensor<6x4xf32>, %down: tensor<4x6xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'transformer.feed_forward' op cannot be lowered to linalg; run transformer-expand-composites first}}
  %0 = transformer.feed_forward relu %x weights(%up, %down) out_in : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func private @layer(%seq: !transformer.sequences) -> tensor<?x4xf32>
func.func @no_rows(%seq: !transformer.sequences) -> tensor<?x4xf32> {
  // expected-error @below {{calls a function that has no body}}
  %0 = call @layer(%seq) : (!transformer.sequences) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// expected-error @below {{returns sequences; expected results of tensors only}}
func.func @returns_sequences(%x: tensor<?x4xf32>, %seq: !transformer.sequences) -> (tensor<?x4xf32>, !transformer.sequences) {
  return %x, %seq : tensor<?x4xf32>, !transformer.sequences
}

// -----

func.func @selects_sequences(%x: tensor<?x4xf32>, %c: i1, %a: !transformer.sequences, %b: !transformer.sequences) -> tensor<?x4xf32> {
  // expected-error @below {{'arith.select' op takes or makes sequences; only the transformer dialect's ops can}}
  %s = arith.select %c, %a, %b : !transformer.sequences
  %0 = transformer.first_token %x, %s : tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// expected-error @below {{has control flow; expected one block}}
func.func @branches(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  cf.br ^end
^end:
  return %x : tensor<?x4xf32>
}
