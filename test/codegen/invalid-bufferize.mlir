// RUN: transformer-opt %s --transformer-bufferize -verify-diagnostics -split-input-file

func.func @not_its_destination(%n: index, %x: tensor<?x8xf32>, %cu: tensor<?xindex>) -> tensor<?x8xf32> {
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %0 = transformer_kernel.first_token ins(%x, %cu) outs(%e) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{result 0 of @not_its_destination was not written to its destination}}
  return %0 : tensor<?x8xf32>
}
