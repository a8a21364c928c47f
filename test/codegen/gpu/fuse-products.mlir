// RUN: transformer-opt %s --transformer-gpu-fuse-products | FileCheck %s
// RUN: transformer-opt %s --transformer-gpu-fuse-products --one-shot-bufferize="bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map" --canonicalize | FileCheck %s --check-prefix=BUFFERS

#all = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

// A bias, an activation and a residual that is read where the result is written and shares its memory.
// CHECK-DAG: #[[XS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[WS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: @whole(
// CHECK-NOT: linalg
// CHECK: transformer_gpu.product ins(%arg0, %arg1) with(%arg2, %arg3) outs(%arg3) maps [#[[XS]], #[[WS]], #[[COLUMNS]], #[[ALL]]] terms {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[X:.*]]: f32, %[[W:.*]]: f32):
// CHECK: transformer_gpu.yield %[[X]], %[[W]] : f32, f32
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[R:.*]]: f32):
// CHECK: %[[BIASED:.*]] = arith.addf %[[SUM]], %[[BIAS]]
// CHECK: %[[ACTIVE:.*]] = transformer.activation gelu %[[BIASED]]
// CHECK: %[[LAST:.*]] = arith.addf %[[ACTIVE]], %[[R]]
// CHECK: transformer_gpu.yield %[[LAST]] : f32
// BUFFERS-LABEL: @whole(
// BUFFERS-NOT: alloc
// BUFFERS: transformer_gpu.product ins(%arg0, %arg1) with(%arg2, %arg3) outs(%arg3)
func.func private @whole(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %bias: tensor<128xf32>, %r: tensor<?x128xf32>)
    -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %product = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x128xf32>) outs(%zeros : tensor<?x128xf32>) -> tensor<?x128xf32>
  %active = linalg.generic {indexing_maps = [#all, #columns, #all], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<?x128xf32>, tensor<128xf32>) outs(%empty : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    %1 = transformer.activation gelu %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x128xf32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%active, %r : tensor<?x128xf32>, tensor<?x128xf32>) outs(%r : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x128xf32>
  return %sum : tensor<?x128xf32>
}

// What is multiplied and what is added are one: the sum has memory of its own.
// CHECK-LABEL: @self(
// CHECK: transformer_gpu.product ins(%arg0, %arg1) with(%arg0) outs(%arg0)
// BUFFERS-LABEL: @self(
// BUFFERS: %[[COPY:.*]] = memref.alloc
// BUFFERS: transformer_gpu.product ins(%arg0, %arg1) with(%arg0) outs(%[[COPY]])
func.func private @self(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%product, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%x : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %sum : tensor<64x64xf32>
}

// What else is read is written, too; rows of zeros that two products start from are nobody's.
// CHECK-LABEL: @both(
// CHECK-NOT: linalg.fill
// CHECK: %[[P:.*]]:2 = transformer_gpu.product {{.*}} outs(%{{.*}}, %arg2)
// CHECK: transformer_gpu.yield %[[NUMBER:.*]], %{{.*}} : f32, f32
// CHECK: transformer_gpu.product ins(%[[P]]#0, %arg1) outs(%arg3)
// CHECK: return %[[P]]#1
func.func private @both(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<64x64xf32>, %z: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %active = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<64x64xf32>) outs(%y : tensor<64x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = transformer.activation relu %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %more = linalg.matmul ins(%product, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %to = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%more : tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x64xf32>
  return %active, %to : tensor<64x64xf32>, tensor<64x64xf32>
}

// A sum that continues stays one, and what is read at another place than it is written is read behind the product.
// CHECK-LABEL: @apart(
// CHECK: linalg.matmul
// CHECK: transformer_gpu.product
// CHECK: linalg.generic
func.func private @apart(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<64x64xf32>, %z: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %more = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%y : tensor<64x64xf32>) -> tensor<64x64xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  %turned = linalg.generic {indexing_maps = [#swapped, #all], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<64x64xf32>) outs(%z : tensor<64x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<64x64xf32>
  return %more, %turned : tensor<64x64xf32>, tensor<64x64xf32>
}
