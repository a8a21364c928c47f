// RUN: transformer-opt %s --transformer-hoist-parameters -split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: transformer.linear %[[X]], %[[W]]
// CHECK-NEXT: return
// CHECK-LABEL: @forward(
// CHECK-NEXT: %[[K:.*]] = transformer.get_parameter @k.weight
// CHECK-NEXT: %[[V:.*]] = transformer.get_parameter @v.weight
// CHECK-NEXT: %[[C:.*]] = tensor.concat dim(0) %[[K]], %[[V]]
// CHECK-NEXT: call @layer(%{{.*}}, %[[C]])
transformer.parameter @"k.weight" : tensor<4x8xf32>
transformer.parameter @"v.weight" : tensor<4x8xf32>
func.func private @layer(%x: tensor<?x8xf32>, %wk: tensor<4x8xf32>, %wv: tensor<4x8xf32>) -> tensor<?x8xf32> {
  %w = tensor.concat dim(0) %wk, %wv : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {transformer.entry} {
  %wk = transformer.get_parameter @"k.weight" : tensor<4x8xf32>
  %wv = transformer.get_parameter @"v.weight" : tensor<4x8xf32>
  %y = call @layer(%x, %wk, %wv) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Panels through two levels of calls, in each call of each level; the bias is
// used as it is and stays, the unused argument goes.
// CHECK-LABEL: func.func private @ffn(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x24xf32>, %[[B:[^:]*]]: tensor<40xf32>, %[[P:[^:]*]]: tensor<3x24x16xf32>)
// CHECK-NOT: linalg.pack
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[P]], %[[B]] :
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x24xf32>, %[[B:[^:]*]]: tensor<40xf32>, %[[P:[^:]*]]: tensor<3x24x16xf32>, %[[Q:[^:]*]]: tensor<3x24x16xf32>)
// CHECK-NEXT: call @ffn(%[[X]], %[[B]], %[[P]])
// CHECK-NEXT: call @ffn(%[[X]], %[[B]], %[[Q]])
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<?x24xf32>
// CHECK-DAG: %[[W:.*]] = transformer.get_parameter @w
// CHECK-DAG: %[[V:.*]] = transformer.get_parameter @v
// CHECK-DAG: %[[B:.*]] = transformer.get_parameter @b
// CHECK: %[[P:.*]] = linalg.pack %[[W]] padding_value(%{{.*}} : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16]
// CHECK: %[[Q:.*]] = linalg.pack %[[V]]
// CHECK: call @layer(%[[X]], %[[B]], %[[P]], %[[Q]])
// CHECK: %[[R:.*]] = linalg.pack %[[V]]
// CHECK: %[[S:.*]] = linalg.pack %[[W]]
// CHECK: call @layer(%[[X]], %[[B]], %[[R]], %[[S]])
transformer.parameter @w : tensor<40x24xf32>
transformer.parameter @v : tensor<40x24xf32>
transformer.parameter @b : tensor<40xf32>
func.func private @ffn(%x: tensor<?x24xf32>, %w: tensor<40x24xf32>, %b: tensor<40xf32>, %unused: tensor<40xf32>) -> tensor<?x40xf32> {
  %c = arith.constant 0.0 : f32
  %zero = arith.constant 0 : index
  %empty = tensor.empty() : tensor<3x24x16xf32>
  %p = linalg.pack %w padding_value(%c : f32) outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into %empty : tensor<40x24xf32> -> tensor<3x24x16xf32>
  %t = tensor.dim %x, %zero : tensor<?x24xf32>
  %init = tensor.empty(%t) : tensor<?x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, 0, 0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<3x24x16xf32>, tensor<40xf32>) outs(%init : tensor<?x40xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.addf %0, %1 : f32
    linalg.yield %3 : f32
  } -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
func.func private @layer(%x: tensor<?x24xf32>, %w: tensor<40x24xf32>, %v: tensor<40x24xf32>, %b: tensor<40xf32>) -> (tensor<?x40xf32>, tensor<?x40xf32>) {
  %0 = call @ffn(%x, %w, %b, %b) : (tensor<?x24xf32>, tensor<40x24xf32>, tensor<40xf32>, tensor<40xf32>) -> tensor<?x40xf32>
  %1 = call @ffn(%x, %v, %b, %b) : (tensor<?x24xf32>, tensor<40x24xf32>, tensor<40xf32>, tensor<40xf32>) -> tensor<?x40xf32>
  return %0, %1 : tensor<?x40xf32>, tensor<?x40xf32>
}
func.func @forward(%x: tensor<?x24xf32>) -> (tensor<?x40xf32>, tensor<?x40xf32>) {
  %w = transformer.get_parameter @w : tensor<40x24xf32>
  %v = transformer.get_parameter @v : tensor<40x24xf32>
  %b = transformer.get_parameter @b : tensor<40xf32>
  %0, %1 = call @layer(%x, %w, %v, %b) : (tensor<?x24xf32>, tensor<40x24xf32>, tensor<40x24xf32>, tensor<40xf32>) -> (tensor<?x40xf32>, tensor<?x40xf32>)
  %2, %3 = call @layer(%x, %v, %w, %b) : (tensor<?x24xf32>, tensor<40x24xf32>, tensor<40x24xf32>, tensor<40xf32>) -> (tensor<?x40xf32>, tensor<?x40xf32>)
  return %0, %3 : tensor<?x40xf32>, tensor<?x40xf32>
}

// -----

// The largest expression only, for a chain of ops; a value that is read on the
// way is an argument too. Tables and parameters read inside the layer leave it.
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[IDS:[^:]*]]: tensor<?xi64>, %[[TABLE:[^:]*]]: tensor<32x8xf32>, %[[P:[^:]*]]: tensor<12x8xf32>, %[[T:[^:]*]]: tensor<8x12xf32>, %[[G:[^:]*]]: tensor<8xf32>)
// CHECK-NEXT: transformer.embedding %[[IDS]], %[[TABLE]]
// CHECK-NEXT: transformer.linear %[[X]], %[[P]] out_in
// CHECK-NEXT: transformer.linear %{{.*}}, %[[T]] out_in
// CHECK-NEXT: transformer.layer_norm %{{.*}}, %[[G]], %[[G]]
// CHECK-NEXT: return
// CHECK-LABEL: func.func @forward(
// CHECK: %[[W:.*]] = transformer.get_parameter @w
// CHECK: %[[TABLE:.*]] = transformer.sinusoidal_table
// CHECK: %[[P:.*]] = tensor.pad %[[W]] low[0, 0] high[4, 0]
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[P]]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[T]]
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[E]]
// CHECK: %[[G:.*]] = transformer.get_parameter @gamma
// CHECK: call @layer(%{{.*}}, %{{.*}}, %[[TABLE]], %[[P]], %[[C]], %[[G]])
transformer.parameter @w : tensor<8x8xf32>
transformer.parameter @gamma : tensor<8xf32>
func.func private @layer(%x: tensor<?x8xf32>, %ids: tensor<?xi64>, %w: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %table = transformer.sinusoidal_table halves : tensor<32x8xf32>
  %e = transformer.embedding %ids, %table : tensor<?xi64>, tensor<32x8xf32> -> tensor<?x8xf32>
  %c = arith.constant 0.0 : f32
  %p = tensor.pad %w low[0, 0] high[4, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<8x8xf32> to tensor<12x8xf32>
  %empty = tensor.empty() : tensor<8x12xf32>
  %t = linalg.transpose ins(%p : tensor<12x8xf32>) outs(%empty : tensor<8x12xf32>) permutation = [1, 0]
  %s = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 4, 12] : tensor<8x12xf32> into tensor<2x4x12xf32>
  %d = tensor.collapse_shape %s [[0, 1], [2]] : tensor<2x4x12xf32> into tensor<8x12xf32>
  %h = transformer.linear %x, %p out_in : tensor<?x8xf32>, tensor<12x8xf32> -> tensor<?x12xf32>
  %y = transformer.linear %h, %d out_in : tensor<?x12xf32>, tensor<8x12xf32> -> tensor<?x8xf32>
  %g = transformer.get_parameter @gamma : tensor<8xf32>
  %z = transformer.layer_norm %y, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %e, %z : tensor<?x8xf32>, tensor<?x8xf32>
}
func.func @forward(%x: tensor<?x8xf32>, %ids: tensor<?xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %w = transformer.get_parameter @w : tensor<8x8xf32>
  %y, %z = call @layer(%x, %ids, %w) : (tensor<?x8xf32>, tensor<?xi64>, tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Only one of two calls passes a parameter; an activation of static shape is
// none; constants alone are no parameters.
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8xf32>)
// CHECK: tensor.concat dim(0) %[[W]], %[[W]]
// CHECK: tensor.concat dim(1) %[[X]], %[[X]]
// CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<2xf32>
// CHECK-LABEL: func.func @forward(
// CHECK-NOT: tensor.concat
// CHECK: return
transformer.parameter @w : tensor<4x8xf32>
func.func private @layer(%w: tensor<4x8xf32>, %x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x16xf32>, tensor<2xf32>) {
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = tensor.concat dim(1) %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %c = arith.constant dense<1.0> : tensor<2xf32>
  %2 = arith.addf %c, %c : tensor<2xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<4x16xf32>, tensor<2xf32>
}
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x16xf32>) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %0, %1, %2 = call @layer(%w, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x16xf32>, tensor<2xf32>)
  %3, %4, %5 = call @layer(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x16xf32>, tensor<2xf32>)
  return %0, %4 : tensor<8x8xf32>, tensor<4x16xf32>
}

// -----

// Nobody may change the arguments of these: public, an entry point, recursive,
// used as a value, never called.
// CHECK-LABEL: func.func @public(
// CHECK-NEXT: tensor.concat
// CHECK-LABEL: func.func private @entry(
// CHECK: tensor.concat
// CHECK-LABEL: func.func private @recursive(
// CHECK-NEXT: tensor.concat
// CHECK-LABEL: func.func private @value(
// CHECK-NEXT: tensor.concat
// CHECK-LABEL: func.func private @uncalled(
// CHECK: tensor.concat
transformer.parameter @w : tensor<4x8xf32>
func.func @public(%w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @entry() -> tensor<8x8xf32> attributes {transformer.entry} {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @recursive(%w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = call @recursive(%w) : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @value(%w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @uncalled() -> tensor<8x8xf32> {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %0 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @forward() -> (tensor<8x8xf32>, tensor<8x8xf32>, (tensor<4x8xf32>) -> tensor<8x8xf32>) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %0 = call @public(%w) : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = call @recursive(%w) : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %2 = call @value(%w) : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = constant @value : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %3 : tensor<8x8xf32>, tensor<8x8xf32>, (tensor<4x8xf32>) -> tensor<8x8xf32>
}
