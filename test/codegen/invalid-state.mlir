// State that would be copied as a whole.
// RUN: transformer-opt %s --transformer-pass-destinations --transformer-bufferize -verify-diagnostics -split-input-file

// expected-error @below {{state "s" of @old_and_new cannot be updated in place: its old value is read after the update}}
func.func @old_and_new(%row: tensor<1x4xf32>, %s: tensor<8x4xf32> {transformer.state = "s"})
    -> (tensor<8x4xf32> {transformer.state = "s"}, tensor<8x4xf32>) attributes {transformer.entry} {
  %new = tensor.insert_slice %row into %s[2, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %new, %s : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

func.func @through_a_call(%row: tensor<1x4xf32>, %s: tensor<8x4xf32> {transformer.state = "s"})
    -> (tensor<8x4xf32> {transformer.state = "s"}) attributes {transformer.entry} {
  // expected-error @below {{updates state "s", but @write does not say so by transformer.state}}
  %new = call @write(%row, %s) : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %new : tensor<8x4xf32>
}
func.func private @write(%row: tensor<1x4xf32>, %s: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %new = tensor.insert_slice %row into %s[2, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %new : tensor<8x4xf32>
}

// -----

// expected-error @below {{state "a" of @swap cannot be updated in place}}
func.func @swap(%a: tensor<4xf32> {transformer.state = "a"}, %b: tensor<4xf32> {transformer.state = "b"})
    -> (tensor<4xf32> {transformer.state = "a"}, tensor<4xf32> {transformer.state = "b"}) attributes {transformer.entry} {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}
