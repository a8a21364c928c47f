// RUN: transformer-opt %s --transformer-cpu-set-target --transformer-cpu-emit-nests --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<?x4xf32>, %cu: tensor<?xindex>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'transformer_kernel.first_token' op is still on tensors}}
  %0 = transformer_kernel.first_token ins(%x, %cu) outs(%y) : (tensor<?x4xf32>, tensor<?xindex>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @columns(%x: memref<?x4xf32, strided<[1, 8]>>, %cu: memref<?xindex>, %y: memref<?x4xf32>) {
  // expected-error @+1 {{expected a contiguous last dimension}}
  transformer_kernel.first_token ins(%x, %cu) outs(%y) : (memref<?x4xf32, strided<[1, 8]>>, memref<?xindex>, memref<?x4xf32>) -> ()
  return
}
