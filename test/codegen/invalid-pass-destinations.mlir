// RUN: transformer-opt %s --transformer-pass-destinations -verify-diagnostics -split-input-file

func.func private @outside(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @calls_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls a function that is recursive or has no body}}
  %y = call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls a function that is recursive or has no body}}
  %y = call @itself(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected results of tensors, found 'index'}}
func.func @number(%n: index) -> index {
  return %n : index
}

// -----

// expected-error @below {{has control flow; expected one block}}
func.func @branches(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}

// -----

func.func private @as_many_as_there_are(%count: memref<index>) -> tensor<?xf32> {
  %n = memref.load %count[] : memref<index>
  %y = tensor.empty(%n) : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @cannot_know(%count: memref<index>) -> tensor<?xf32> {
  // expected-error @below {{result 0 of @as_many_as_there_are has a size 0 that only the call computes}}
  %y = call @as_many_as_there_are(%count) : (memref<index>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
