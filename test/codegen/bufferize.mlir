// RUN: transformer-opt %s --transformer-bufferize --split-input-file | FileCheck %s --implicit-check-not=memref.copy --implicit-check-not=tensor.
// RUN: transformer-opt %s --transformer-bufferize --split-input-file | FileCheck %s --check-prefix=PARAMETER

// CHECK: transformer.parameter @w
// CHECK-LABEL: @forward(
// CHECK-SAME: %[[IDS:.*]]: memref<?xi64>, %[[CU:.*]]: memref<?xindex>, %[[Y:.*]]: memref<?x8xf32> {transformer.name = "y"}) attributes {transformer.entry} {
// CHECK: %[[W:.*]] = transformer_kernel.get_parameter @w : memref<30x8xf32>
// CHECK: %[[E:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?x8xf32>
// CHECK: transformer_kernel.embedding ids(%[[IDS]]) tables(%[[W]]) outs(%[[E]])
// CHECK: %[[L:.*]] = memref.alloc
// CHECK: call @layer(%[[E]], %[[CU]], %[[L]]) {transformer.scope = "layer.0"} : (memref<?x8xf32>, memref<?xindex>, memref<?x8xf32>) -> ()
// CHECK: transformer_kernel.first_token ins(%[[L]], %[[CU]]) outs(%[[Y]]) : {{.*}} -> ()
// CHECK: return{{$}}
// CHECK: @layer(%{{.*}}: memref<?x8xf32>, %{{.*}}: memref<?xindex>, %{{.*}}: memref<?x8xf32>) {
transformer.parameter @w : tensor<30x8xf32>
func.func @forward(%ids: tensor<?xi64>, %cu: tensor<?xindex>, %y: tensor<?x8xf32> {transformer.name = "y"}) -> tensor<?x8xf32> attributes {transformer.entry} {
  %c0 = arith.constant 0 : index
  %w = transformer.get_parameter @w : tensor<30x8xf32>
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %0 = transformer_kernel.embedding ids(%ids) tables(%w) outs(%e) {scales = array<f64: 1.0>} : (tensor<?xi64>, tensor<30x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %e1 = tensor.empty(%n) : tensor<?x8xf32>
  %1 = call @layer(%0, %cu, %e1) {transformer.scope = "layer.0"} : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = transformer_kernel.first_token ins(%1, %cu) outs(%y) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
func.func private @layer(%x: tensor<?x8xf32>, %cu: tensor<?xindex>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer_kernel.first_token ins(%x, %cu) outs(%y) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Columns of a merged projection are views.
// CHECK-LABEL: @split(
// CHECK: %[[V:.*]] = memref.subview %{{.*}}[0, 8] [%{{.*}}, 8] [1, 1] : memref<?x16xf32> to memref<?x8xf32, strided<[16, 1], offset: 8>>
// CHECK: transformer_kernel.first_token ins(%[[V]],
func.func @split(%x: tensor<?x16xf32>, %cu: tensor<?xindex>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %0 = tensor.extract_slice %x[0, 8] [%n, 8] [1, 1] : tensor<?x16xf32> to tensor<?x8xf32>
  %1 = transformer_kernel.first_token ins(%0, %cu) outs(%y) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Rows are normalised in place.
// CHECK-LABEL: @normalize(
// CHECK-SAME: %[[G:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<?x8xf32>) {
// CHECK: transformer_kernel.first_token ins({{.*}}) outs(%[[Y]])
// CHECK-NEXT: transformer_kernel.layer_norm ins(%[[Y]], %[[G]], %[[G]]) outs(%[[Y]])
// CHECK-NEXT: return
func.func @normalize(%x: tensor<?x8xf32>, %cu: tensor<?xindex>, %g: tensor<8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = transformer_kernel.first_token ins(%x, %cu) outs(%y) : (tensor<?x8xf32>, tensor<?xindex>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = transformer_kernel.layer_norm ins(%0, %g, %g) outs(%0) norm<eps = 0.0> : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// A parameter is never written to: the fill gets a buffer of its own.
// PARAMETER-LABEL: @overwrite(
// PARAMETER: %[[P:.*]] = transformer_kernel.get_parameter @w
// PARAMETER-NOT: outs(%[[P]]
// PARAMETER: linalg.generic {{.*}} ins(%[[P]] {{.*}} outs(%[[COPY:.*]] :
// PARAMETER-NOT: outs(%[[P]]
// PARAMETER: transformer_kernel.embedding ids(%{{.*}}) tables(%[[COPY]])
transformer.parameter @w : tensor<30x8xf32>
func.func @overwrite(%ids: tensor<?xi64>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w = transformer.get_parameter @w : tensor<30x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<30x8xf32>) outs(%w : tensor<30x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.negf %a : f32
    linalg.yield %2 : f32
  } -> tensor<30x8xf32>
  %1 = transformer_kernel.embedding ids(%ids) tables(%0) outs(%y) {scales = array<f64: 1.0>} : (tensor<?xi64>, tensor<30x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Arithmetic on what the runtime passes is not done in its memory: not on an input of an entry
// point, not on a source of a prepare function.
// CHECK-LABEL: @forward(
// CHECK-SAME: %[[IDS:.*]]: memref<?xi64>, %{{.*}}: memref<?xi64>) attributes {transformer.entry}
// CHECK: %[[SUM:.*]] = memref.alloc
// CHECK: linalg.add ins(%[[IDS]], %[[IDS]] : {{.*}}) outs(%[[SUM]] :
// CHECK-LABEL: @prepare_0(
// CHECK-SAME: %[[P:[^:]*]]: memref<8xf32>, %{{.*}}: memref<8xf32>) {
// CHECK: %[[SUM:.*]] = memref.alloc
// CHECK: linalg.add ins(%[[P]], %[[P]] : {{.*}}) outs(%[[SUM]] :
transformer.parameter @p : tensor<8xf32>
transformer.prepared @p.prepared = @prepare_0(@p) : tensor<8xf32>
func.func @forward(%ids: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> attributes {transformer.entry} {
  %0 = linalg.add ins(%ids, %ids : tensor<?xi64>, tensor<?xi64>) outs(%ids : tensor<?xi64>) -> tensor<?xi64>
  %1 = linalg.add ins(%0, %0 : tensor<?xi64>, tensor<?xi64>) outs(%y : tensor<?xi64>) -> tensor<?xi64>
  return %1 : tensor<?xi64>
}
func.func private @prepare_0(%p: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.add ins(%p, %p : tensor<8xf32>, tensor<8xf32>) outs(%p : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.add ins(%0, %0 : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Scratch of one type is one value, but not one buffer.
// CHECK-LABEL: func.func @scratch_of_one_type
// CHECK-SAME: %[[C:[a-z0-9]*]]: memref<8x8xf32>)
// CHECK-DAG: %[[FIRST:.*]] = memref.alloc(
// CHECK-DAG: %[[SECOND:.*]] = memref.alloc(
// CHECK: transformer_cpu.weight_gradient ins(%{{.*}}, %{{.*}}) outs(%[[C]], %[[FIRST]], %[[SECOND]])
func.func @scratch_of_one_type(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %rows: index, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %scratch = tensor.empty(%rows) : tensor<1x?x8xf32>
  %0:3 = transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %scratch, %scratch) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>) -> (tensor<8x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>)
  return %0#0 : tensor<8x8xf32>
}
