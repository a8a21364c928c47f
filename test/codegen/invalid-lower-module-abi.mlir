// RUN: transformer-opt %s --transformer-cpu-set-target --transformer-lower-module-abi -verify-diagnostics

transformer.parameter @w : tensor<4xf32>
func.func private @layer(%y: memref<4xf32>) {
  // expected-error @below {{is read outside entry points and their layers}}
  %w = transformer_kernel.get_parameter @w : memref<4xf32>
  memref.copy %w, %y : memref<4xf32> to memref<4xf32>
  return
}
