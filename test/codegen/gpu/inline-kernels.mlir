// RUN: transformer-opt %s --transformer-gpu-inline-kernels --cse | FileCheck %s

#all = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// The update of a parameter, whose coefficient both calls compute alike.
// CHECK-NOT: @update
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-1: arith.divf
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: call @update
// CHECK: call @two_kernels
func.func private @update(%p: tensor<8xf32>, %g: tensor<8xf32>, %rate: tensor<f32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %r = tensor.extract %rate[] : tensor<f32>
  %inverse = arith.divf %one, %r : f32
  %new = linalg.generic {indexing_maps = [#all, #none, #all], iterator_types = ["parallel"]} ins(%g, %inverse : tensor<8xf32>, f32) outs(%p : tensor<8xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.mulf %in, %by : f32
    %1 = arith.subf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %new : tensor<8xf32>
}

func.func private @two_kernels(%p: tensor<8xf32>) -> tensor<8xf32> {
  %a = linalg.exp ins(%p : tensor<8xf32>) outs(%p : tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.exp ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}

func.func @step(%p: tensor<8xf32>, %q: tensor<8xf32>, %g: tensor<8xf32>, %rate: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = call @update(%p, %g, %rate) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = call @update(%q, %g, %rate) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %c = call @two_kernels(%b) : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %c : tensor<8xf32>, tensor<8xf32>
}
