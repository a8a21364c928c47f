// RUN: transformer-opt %s --transformer-deduplicate-layers -split-input-file | FileCheck %s

// CHECK: func.func private @layer_0
// CHECK-NOT: func.func private @layer_1
// CHECK-LABEL: @forward
// CHECK: call @layer_0
// CHECK: call @layer_0
func.func private @layer_0(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.activation gelu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @layer_1(%z: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.activation gelu %z : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = call @layer_0(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = call @layer_1(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Callees first, then their callers; a scope at the call of the copy stays.
// CHECK-NOT: @{{(ffn|layer)_1}}
// CHECK: func.func private @layer_0
// CHECK-NOT: @{{(ffn|layer)_1}}
// CHECK: func.func private @ffn_0
// CHECK-NOT: @{{(ffn|layer)_1}}
// CHECK-LABEL: @forward
// CHECK: call @layer_0(%{{.*}}) {transformer.scope = "layer.0"}
// CHECK: call @layer_0(%{{.*}}) {transformer.scope = "layer.1"}
func.func private @layer_0(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = call @ffn_0(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @layer_1(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = call @ffn_1(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @ffn_0(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.activation gelu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @ffn_1(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.activation gelu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = call @layer_0(%x) {transformer.scope = "layer.0"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = call @layer_1(%0) {transformer.scope = "layer.1"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Never called, the second only by the first: erased. Another eps, another
// wiring, public functions, entry points and declarations: kept.
// CHECK-NOT: @unused
// CHECK: func.func private @eps_5
// CHECK: func.func private @eps_6
// CHECK: func.func private @swapped
// CHECK: func.func private @declared_0
// CHECK: func.func private @declared_1
// CHECK: func.func private @entry
// CHECK: func.func @public_0
// CHECK: call @eps_5
// CHECK: call @eps_6
// CHECK: call @swapped
// CHECK: func.func @public_1
func.func private @unused(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = call @unused_too(%x, %g, %b) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @unused_too(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
func.func private @eps_5(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @eps_6(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.layer_norm %x, %g, %b norm<eps = 1.0e-6> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @swapped(%x: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = transformer.layer_norm %x, %b, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @declared_0(tensor<?x8xf32>) -> tensor<?x8xf32>
func.func private @declared_1(tensor<?x8xf32>) -> tensor<?x8xf32>
func.func private @entry(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {transformer.entry} {
  return %x : tensor<?x8xf32>
}
func.func @public_0(%x: tensor<?x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = call @eps_5(%x, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = call @eps_6(%0, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = call @swapped(%1, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
func.func @public_1(%x: tensor<?x8xf32>, %g: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = call @eps_5(%x, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = call @eps_6(%0, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = call @swapped(%1, %g, %g) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
