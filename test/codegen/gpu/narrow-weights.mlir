// RUN: transformer-opt %s --transformer-gpu-narrow-weights | FileCheck %s
// RUN: not transformer-opt %S/Inputs/narrow-sum.mlir --transformer-gpu-narrow-weights 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: reads a narrow weight; expected a matrix product to do so

#xs = affine_map<(d0, d1, d2) -> (d0, d2)>
#out_in = affine_map<(d0, d1, d2) -> (d1, d2)>
#ys = affine_map<(d0, d1, d2) -> (d0, d1)>

// An odd number of inputs: the last byte has one of them. 33 are two groups.
// CHECK-DAG: #[[PAIRS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 floordiv 2)>
// CHECK-DAG: #[[GROUPS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 floordiv 32)>
// CHECK-LABEL: @int4(
// CHECK: %[[S:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5x2xbf16>)
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<5x2xbf16>) outs(%{{.*}} : tensor<5x17xi8>)
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[PAIRS]], #[[GROUPS]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[Q]], %[[S]]
// CHECK-NOT: quantize
func.func @int4(%x: tensor<?x33xf32>, %w: tensor<5x33xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %q = transformer.quantize_weight int4 %w out_in : tensor<5x33xf32>
  %r = linalg.matmul indexing_maps = [#xs, #out_in, #ys] ins(%x, %q : tensor<?x33xf32>, tensor<5x33xf32>) outs(%y : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// The scale of an output is one for all inputs, whichever way the weight lies.
// CHECK-LABEL: @int8(
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<5x1xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<33x5xi8>)
func.func @int8(%x: tensor<?x33xf32>, %w: tensor<33x5xf32>, %y: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %q = transformer.quantize_weight int8 %w in_out : tensor<33x5xf32>
  %r = linalg.matmul ins(%x, %q : tensor<?x33xf32>, tensor<33x5xf32>) outs(%y : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// CHECK-LABEL: @rows(
// CHECK-NOT: quantize
// CHECK: math.roundeven
func.func @rows(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %q = transformer.quantize_rows int8 %x : tensor<?x33xf32>
  return %q : tensor<?x33xf32>
}
