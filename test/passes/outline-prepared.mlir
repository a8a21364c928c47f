// RUN: transformer-opt %s --transformer-outline-prepared -split-input-file | FileCheck %s
// Running it again changes nothing.
// RUN: transformer-opt %s --transformer-outline-prepared --transformer-outline-prepared -split-input-file | FileCheck %s

// CHECK: transformer.parameter @v.weight
// CHECK-NEXT: transformer.prepared @k.weight.prepared = @prepare_0(@k.weight, @v.weight) : tensor<8x8xf32>
// CHECK-LABEL: @forward(
// CHECK-NEXT: %[[W:.*]] = transformer.get_parameter @k.weight.prepared : tensor<8x8xf32>
// CHECK-NEXT: transformer.linear %{{.*}}, %[[W]]
// CHECK-LABEL: func.func private @prepare_0(
// CHECK-SAME: %[[K:.*]]: tensor<4x8xf32>, %[[V:.*]]: tensor<4x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[W:.*]] = tensor.concat dim(0) %[[K]], %[[V]]
// CHECK-NEXT: return %[[W]]
// CHECK-NOT: transformer.prepared
transformer.parameter @"k.weight" : tensor<4x8xf32>
transformer.parameter @"v.weight" : tensor<4x8xf32>
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {transformer.entry} {
  %k = transformer.get_parameter @"k.weight" : tensor<4x8xf32>
  %v = transformer.get_parameter @"v.weight" : tensor<4x8xf32>
  %w = tensor.concat dim(0) %k, %v : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Four layers: 0 and 1 share the function, 2 reads the parameters of 0 and
// shares the tensor, 3 is another wiring. The bias stays a parameter.
// CHECK-DAG: transformer.prepared @q0.prepared = @prepare_0(@q0, @k0) : tensor<1x8x16xf32>
// CHECK-DAG: transformer.prepared @q1.prepared = @prepare_0(@q1, @k1) : tensor<1x8x16xf32>
// CHECK-DAG: transformer.prepared @q0.prepared.1 = @prepare_1(@q0) : tensor<1x8x16xf32>
// CHECK-LABEL: @forward(
// CHECK-NEXT: %[[B:.*]] = transformer.get_parameter @b
// CHECK-NEXT: %[[P0:.*]] = transformer.get_parameter @q0.prepared :
// CHECK-NEXT: call @layer(%{{.*}}, %[[P0]], %[[B]])
// CHECK-NEXT: %[[P1:.*]] = transformer.get_parameter @q1.prepared :
// CHECK-NEXT: call @layer(%{{.*}}, %[[P1]], %[[B]])
// CHECK-NEXT: %[[P2:.*]] = transformer.get_parameter @q0.prepared :
// CHECK-NEXT: call @layer(%{{.*}}, %[[P2]], %[[B]])
// CHECK-NEXT: %[[P3:.*]] = transformer.get_parameter @q0.prepared.1 :
// CHECK-NEXT: call @layer(%{{.*}}, %[[P3]], %[[B]])
// CHECK-NEXT: return
// CHECK: func.func private @prepare_0(
// CHECK: tensor.concat
// CHECK: linalg.pack
// CHECK: func.func private @prepare_1(
// CHECK-NOT: @prepare_2
transformer.parameter @q0 : tensor<8x8xf32>
transformer.parameter @k0 : tensor<8x8xf32>
transformer.parameter @q1 : tensor<8x8xf32>
transformer.parameter @k1 : tensor<8x8xf32>
transformer.parameter @b : tensor<16xf32>
func.func private @layer(tensor<?x8xf32>, tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<?x8xf32>
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {transformer.entry} {
  %b = transformer.get_parameter @b : tensor<16xf32>
  %q0 = transformer.get_parameter @q0 : tensor<8x8xf32>
  %k0 = transformer.get_parameter @k0 : tensor<8x8xf32>
  %q1 = transformer.get_parameter @q1 : tensor<8x8xf32>
  %k1 = transformer.get_parameter @k1 : tensor<8x8xf32>
  %e = tensor.empty() : tensor<1x8x16xf32>
  %c0 = tensor.concat dim(0) %q0, %k0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %p0 = linalg.pack %c0 outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into %e : tensor<16x8xf32> -> tensor<1x8x16xf32>
  %0 = call @layer(%x, %p0, %b) : (tensor<?x8xf32>, tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<?x8xf32>
  %c1 = tensor.concat dim(0) %q1, %k1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %p1 = linalg.pack %c1 outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into %e : tensor<16x8xf32> -> tensor<1x8x16xf32>
  %1 = call @layer(%0, %p1, %b) : (tensor<?x8xf32>, tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<?x8xf32>
  %q2 = transformer.get_parameter @q0 : tensor<8x8xf32>
  %c2 = tensor.concat dim(0) %q2, %k0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %p2 = linalg.pack %c2 outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into %e : tensor<16x8xf32> -> tensor<1x8x16xf32>
  %2 = call @layer(%1, %p2, %b) : (tensor<?x8xf32>, tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<?x8xf32>
  %c3 = tensor.concat dim(0) %q2, %q0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %p3 = linalg.pack %c3 outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into %e : tensor<16x8xf32> -> tensor<1x8x16xf32>
  %3 = call @layer(%2, %p3, %b) : (tensor<?x8xf32>, tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// -----

// Tables have no sources; names that are taken are avoided; two entry points
// share what they prepare; other attributes are another function.
// CHECK-DAG: transformer.prepared @sinusoidal_table = @prepare_1() : tensor<4x8xf32>
// CHECK-DAG: transformer.prepared @sinusoidal_table.1 = @prepare_2() : tensor<4x8xf32>
// CHECK-DAG: transformer.prepared @w.prepared.1 = @prepare_3(@w) : tensor<8x8xf32>
// CHECK-LABEL: @first(
// CHECK-DAG: transformer.get_parameter @sinusoidal_table :
// CHECK-DAG: transformer.get_parameter @sinusoidal_table.1 :
// CHECK-DAG: transformer.get_parameter @w.prepared.1 :
// CHECK-LABEL: @second(
// CHECK-NEXT: transformer.get_parameter @w.prepared.1
// CHECK-NEXT: return
transformer.parameter @w : tensor<4x8xf32>
transformer.parameter @w.prepared : tensor<4x8xf32>
func.func @prepare_0() { return }
func.func @first() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
  %0 = transformer.sinusoidal_table halves : tensor<4x8xf32>
  %1 = transformer.sinusoidal_table interleaved : tensor<4x8xf32>
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %2 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
}
func.func @second() -> tensor<8x8xf32> {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %2 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// What depends on inputs, private functions and prepared tensors are left alone.
// CHECK-COUNT-1: transformer.prepared
// CHECK-NOT: transformer.prepared
// CHECK-LABEL: @forward(
// CHECK: transformer.get_parameter @w :
// CHECK: tensor.concat
// CHECK: transformer.get_parameter @w.prepared
// CHECK: tensor.concat
// CHECK-LABEL: @private(
// CHECK: tensor.concat
transformer.parameter @w : tensor<4x8xf32>
transformer.prepared @w.prepared = @prepare_0(@w) : tensor<4x8xf32>
func.func private @prepare_0(%w: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %w : tensor<4x8xf32>
}
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %0 = tensor.concat dim(0) %w, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = transformer.get_parameter @w.prepared : tensor<4x8xf32>
  %1 = tensor.concat dim(0) %p, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @private() -> tensor<8x8xf32> {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %2 = tensor.concat dim(0) %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// What a prepared tensor needs of another is not computed twice; its source stands before it.
// CHECK: transformer.prepared @k.prepared = @prepare_0(@k) : tensor<8x8xf32>
// CHECK-NEXT: transformer.prepared @v.prepared = @prepare_1(@v, @k.prepared) : tensor<12x8xf32>
// CHECK-LABEL: @forward(
// CHECK-DAG: transformer.get_parameter @k.prepared :
// CHECK-DAG: transformer.get_parameter @v.prepared :
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @prepare_1(
// CHECK-SAME: %[[V:.*]]: tensor<4x8xf32>, %[[KK:.*]]: tensor<8x8xf32>)
// CHECK-NEXT: tensor.concat dim(0) %[[V]], %[[KK]]
transformer.parameter @k : tensor<4x8xf32>
transformer.parameter @v : tensor<4x8xf32>
func.func @forward() -> (tensor<12x8xf32>, tensor<8x8xf32>) attributes {transformer.entry} {
  %k = transformer.get_parameter @k : tensor<4x8xf32>
  %v = transformer.get_parameter @v : tensor<4x8xf32>
  %0 = tensor.concat dim(0) %k, %k : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = tensor.concat dim(0) %v, %0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  return %1, %0 : tensor<12x8xf32>, tensor<8x8xf32>
}

// -----

// Results of other types than f32 are no obstacle inside an expression; read in the call they stay
// there, and what they are made from is prepared.
// CHECK: transformer.prepared @w.prepared = @prepare_0(@w) : tensor<8xf32>
// CHECK: transformer.prepared @w.prepared.1 = @prepare_1(@w) : tensor<8xf32>
// CHECK-LABEL: func.func @forward(
// CHECK-DAG: %[[POSITIVE:.*]] = transformer.get_parameter @w.prepared.1 :
// CHECK-DAG: %[[TWICE:.*]] = transformer.get_parameter @w.prepared :
// CHECK-DAG: %[[LARGE:.*]] = arith.cmpf ogt, %[[TWICE]]
// CHECK: arith.select %[[LARGE]], %[[POSITIVE]]
// CHECK-LABEL: func.func private @prepare_1(
// CHECK: arith.cmpf
// CHECK-NEXT: arith.select
transformer.parameter @w : tensor<8xf32>
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %w = transformer.get_parameter @w : tensor<8xf32>
  %sign = arith.cmpf ogt, %w, %zeros : tensor<8xf32>
  %positive = arith.select %sign, %w, %zeros : tensor<8xi1>, tensor<8xf32>
  %twice = arith.addf %w, %w : tensor<8xf32>
  %large = arith.cmpf ogt, %twice, %zeros : tensor<8xf32>
  %y = arith.select %large, %positive, %x : tensor<8xi1>, tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A constant weight is worked on at load, too; as it is, it stays where it stands.
// CHECK: transformer.prepared @concat = @prepare_0() : tensor<4x2xf32>
// CHECK-LABEL: func.func @forward(
// CHECK-DAG: transformer.get_parameter @concat :
// CHECK-DAG: arith.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK-NOT: tensor.concat
// CHECK: return
func.func @forward() -> (tensor<4x2xf32>, tensor<2x2xf32>) {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = tensor.concat dim(0) %w, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %0, %w : tensor<4x2xf32>, tensor<2x2xf32>
}
