// RUN: transformer-opt %s --transformer-gpu-host-inputs --split-input-file --verify-diagnostics | FileCheck %s

// Two masks are counted in, one of them twice; the states and outputs between are not inputs.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %{{[^:]*}}: memref<?x?xi64>, %{{[^:]*}}: memref<?xf32> {transformer.state = "s"},
// CHECK-SAME: %{{[^:]*}}: memref<?x?xi64>, %{{[^:]*}}: memref<?xf32> {transformer.output},
// CHECK-SAME: %[[SECOND:[^:]*]]: memref<?x?xi64> {transformer.host_input = 1 : index},
// CHECK-SAME: %[[FIRST:[^:]*]]: memref<?x?xi64> {transformer.host_input = 0 : index})
// CHECK: count_tokens %[[SECOND]]
// CHECK: count_tokens %[[FIRST]]
// CHECK: count_tokens %[[SECOND]]
func.func @forward(%a: memref<?x?xi64>, %s: memref<?xf32> {transformer.state = "s"}, %b: memref<?x?xi64>,
                   %y: memref<?xf32> {transformer.output}) -> (index, index, index) attributes {transformer.entry} {
  %0 = transformer_kernel.count_tokens %b : memref<?x?xi64>
  %1 = transformer_kernel.count_tokens %a : memref<?x?xi64>
  %2 = transformer_kernel.count_tokens %b : memref<?x?xi64>
  return %0, %1, %2 : index, index, index
}

// -----

func.func @layer(%mask: memref<?x?xi64>) -> index {
  // expected-error @below {{depends on what the device computes: expected an entry point's input}}
  %0 = transformer_kernel.count_tokens %mask : memref<?x?xi64>
  return %0 : index
}
