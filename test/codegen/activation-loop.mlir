// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=haswell --transformer-cpu-tile | FileCheck %s
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=haswell --transformer-cpu-tile --transformer-cpu-to-buffers | FileCheck %s --check-prefix=BUFFERS
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-pack=arch=haswell --transformer-cpu-tile --transformer-cpu-to-buffers --transformer-cpu-outline-epilogues | FileCheck %s --check-prefix=OUTLINED

// An activation is long code: sums go to memory, from where a loop takes row after row and panel after
// panel of the register tile.
// CHECK-LABEL: @gelu(
// CHECK: scf.if
// CHECK: %[[FOUR:.*]] = scf.for {{.*}} -> (vector<1x4x16xf32>) {
// CHECK: vector.transfer_write %[[FOUR]], {{.*}} : vector<1x4x16xf32>
// CHECK: scf.for {{.*}} = %c0 to %c4 step %c1
// CHECK: transformer.activation gelu {{.*}} : vector<1x1x16xf32>
// CHECK: } else {
// CHECK: %[[SIX:.*]] = scf.for {{.*}} -> (vector<6x1x16xf32>) {
// CHECK: vector.transfer_write %[[SIX]], {{.*}} : vector<6x1x16xf32>
// CHECK: scf.for {{.*}} = %c0 to %c6 step %c1
// CHECK: transformer.activation gelu {{.*}} : vector<1x1x16xf32>
// CHECK-NOT: transformer.activation {{.*}} vector<{{[2-9]}}

// The sums of a tile are side by side, on the task's stack.
// BUFFERS-LABEL: @gelu(
// BUFFERS-NOT: memref.alloc()
// BUFFERS: memref.alloca() {{.*}} memref<1x4x16xf32>
// BUFFERS: %[[SUMS:.*]] = memref.alloca() {{.*}} memref<6x1x16xf32>
// BUFFERS-NOT: memref.copy
// BUFFERS: scf.for %[[I:.*]] = %c0 to %c6
// BUFFERS: vector.transfer_read %[[SUMS]][%[[I]], %c0, %c0]
// BUFFERS-NOT: memref.copy
// BUFFERS: return
transformer.parameter @w : tensor<1056x768xf32>
func.func @gelu(%x: tensor<?x768xf32>, %b: tensor<1056xf32>) -> tensor<?x1056xf32> {
  %w = transformer.get_parameter @w : tensor<1056x768xf32>
  %0 = transformer.linear %x, %w bias(%b : tensor<1056xf32>) out_in : tensor<?x768xf32>, tensor<1056x768xf32> -> tensor<?x1056xf32>
  %1 = transformer.activation gelu %0 : tensor<?x1056xf32>
  return %1 : tensor<?x1056xf32>
}

// So is its gradient. What each row of it reads was written long ago: it is fetched before the tile is
// multiplied.
// CHECK-LABEL: @gelu_gradient(
// CHECK: scf.for {{.*}} -> (vector<6x1x16xf32>) {
// CHECK: scf.for {{.*}} = %c0 to %c6 step %c1
// CHECK: transformer.activation_gradient gelu {{.*}} : vector<1x1x16xf32>
// BUFFERS-LABEL: @gelu_gradient(
// BUFFERS-SAME: %[[H:[^:]*]]: memref<?x1056xf32>
// BUFFERS: %[[ROWS:.*]] = memref.expand_shape %[[H]] {{.*}} into memref<?x66x16xf32>
// BUFFERS-COUNT-6: memref.prefetch %[[ROWS]]
// BUFFERS: -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// BUFFERS: } {transformer_cpu.linear = #transformer_cpu.linear<rows>}

// It is a function, the same for tiles of all heights; an activation stays in its task.
// OUTLINED-LABEL: @gelu(
// OUTLINED-NOT: call @gelu.epilogue
// OUTLINED: func.func private @gelu_gradient.epilogue(%[[END:[^:]*]]: index, {{.*}}memref<?x1x16xf32>
// OUTLINED-SAME: passthrough = ["noinline"]
// OUTLINED: scf.for {{.*}} to %[[END]]
// OUTLINED: return
// OUTLINED-LABEL: @gelu_gradient(
// OUTLINED: call @gelu_gradient.epilogue(%c6,
// OUTLINED: call @gelu_gradient.epilogue(%c4,
// OUTLINED: call @gelu_gradient.epilogue(%c2,
// OUTLINED-NOT: .epilogue
func.func @gelu_gradient(%h: tensor<?x1056xf32>, %dy: tensor<?x768xf32>, %w: tensor<768x1056xf32>) -> tensor<?x1056xf32> {
  %0 = transformer.linear %dy, %w in_out : tensor<?x768xf32>, tensor<768x1056xf32> -> tensor<?x1056xf32>
  %1 = transformer.activation_gradient gelu %h, %0 : tensor<?x1056xf32>
  return %1 : tensor<?x1056xf32>
}
