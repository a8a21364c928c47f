// A linear whose epilogue adds a residual and whose result is the function's own: the tiles of the
// main loop are full, whatever the destination's size is written in terms of.
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors \
// RUN:   --transformer-cpu-pack=arch=haswell --transformer-cpu-tile | FileCheck %s

// CHECK-LABEL: func.func @residual
// CHECK:         vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT:     linalg.fill
// CHECK-NOT:     linalg.generic
func.func @residual(%x: tensor<?x64xf32>, %r: tensor<?x32xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %y = transformer.linear %x, %w bias(%b : tensor<32xf32>) out_in : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %sum = arith.addf %r, %y : tensor<?x32xf32>
  return %sum : tensor<?x32xf32>
}
