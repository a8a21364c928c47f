// State is written where it lies.
// RUN: transformer-opt %s --transformer-pass-destinations --split-input-file | FileCheck %s --check-prefix=TENSORS
// RUN: transformer-opt %s --transformer-pass-destinations --transformer-bufferize --split-input-file | FileCheck %s --implicit-check-not=memref.alloc

// A slice of the argument: nothing to do. Other results have arguments behind, and are outputs.
// TENSORS-LABEL: func.func @append(
// TENSORS-SAME: %[[CACHE:[^:]*]]: tensor<8x4xf32> {transformer.state = "cache"}, %{{[^:]*}}: tensor<1x4xf32>, %[[Y:[^:]*]]: tensor<8x4xf32> {transformer.name = "y", transformer.output})
// TENSORS-SAME: -> (tensor<8x4xf32> {transformer.state = "cache"}, tensor<8x4xf32>)
// TENSORS: %[[NEW:.*]] = tensor.insert_slice %{{.*}} into %[[CACHE]]
// TENSORS: %[[COPY:.*]] = linalg.copy ins(%[[NEW]] : tensor<8x4xf32>) outs(%[[Y]]
// TENSORS: return %[[NEW]], %[[COPY]]
// CHECK-LABEL: func.func @append(
// CHECK-SAME: %[[CACHE:[^:]*]]: memref<8x4xf32> {transformer.state = "cache"}, %[[ROW:[^:]*]]: memref<1x4xf32>, %[[Y:[^:]*]]: memref<8x4xf32>
// CHECK: %[[PLACE:.*]] = memref.subview %[[CACHE]][%{{.*}}, 0] [1, 4]
// CHECK: memref.copy %[[ROW]], %[[PLACE]]
// CHECK: linalg.copy ins(%[[CACHE]] : memref<8x4xf32>) outs(%[[Y]]
func.func @append(%cache: tensor<8x4xf32> {transformer.state = "cache"}, %row: tensor<1x4xf32>)
    -> (tensor<8x4xf32> {transformer.state = "cache"}, tensor<8x4xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %c2 = arith.constant 2 : index
  %new = tensor.insert_slice %row into %cache[%c2, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %new, %new : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Elements of fresh memory, which becomes the state's: of an op that reads them where it writes them.
// CHECK-LABEL: func.func @decay(
// CHECK-SAME: %[[S:[^:]*]]: memref<4xf32>
// CHECK: linalg.exp ins(%[[S]] : memref<4xf32>) outs(%[[S]] : memref<4xf32>)
func.func @decay(%state: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}) attributes {transformer.entry} {
  %empty = tensor.empty() : tensor<4xf32>
  %new = linalg.exp ins(%state : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// The destination is an input's shape, which nobody writes to.
// CHECK-LABEL: func.func @add(
// CHECK-SAME: %[[X:[^:]*]]: memref<4xf32>, %[[S:[^:]*]]: memref<4xf32>
// CHECK: linalg.add ins(%[[X]], %[[S]] : memref<4xf32>, memref<4xf32>) outs(%[[S]] : memref<4xf32>)
func.func @add(%x: tensor<4xf32>, %state: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}) attributes {transformer.entry} {
  %new = linalg.add ins(%x, %state : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

// The state as it was.
// CHECK-LABEL: func.func @look(
// CHECK-SAME: %[[S:[^:]*]]: memref<4xf32> {transformer.state = "s"}, %[[Y:[^:]*]]: memref<4xf32>
// CHECK-NEXT: linalg.copy ins(%[[S]] : memref<4xf32>) outs(%[[Y]]
// CHECK-NEXT: return
func.func @look(%state: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}, tensor<4xf32>) attributes {transformer.entry} {
  return %state, %state : tensor<4xf32>, tensor<4xf32>
}

// -----

// What an input is becomes the state by a copy.
// CHECK-LABEL: func.func @set(
// CHECK-SAME: %[[X:[^:]*]]: memref<4xf32>, %[[S:[^:]*]]: memref<4xf32>
// CHECK-NEXT: linalg.copy ins(%[[X]] : memref<4xf32>) outs(%[[S]]
func.func @set(%x: tensor<4xf32>, %state: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}) attributes {transformer.entry} {
  return %x : tensor<4xf32>
}

// -----

// A function's state takes its argument's place in calls; its other results come behind.
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: memref<4xf32> {transformer.state = "s"}, %{{[^:]*}}: memref<4xf32>)
// CHECK-LABEL: func.func @calls(
// CHECK-SAME: %[[A:[^:]*]]: memref<4xf32> {transformer.state = "a"}, %[[B:[^:]*]]: memref<4xf32> {transformer.state = "b"}, %[[Y:[^:]*]]: memref<4xf32>
// CHECK: call @layer(%[[A]], %[[Y]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK: call @layer(%[[B]], %[[Z:.*]]) : (memref<4xf32>, memref<4xf32>) -> ()
func.func private @layer(%state: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32>, tensor<4xf32> {transformer.state = "s"}) {
  %empty = tensor.empty() : tensor<4xf32>
  %new = linalg.exp ins(%state : tensor<4xf32>) outs(%state : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.log ins(%new : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %y, %new : tensor<4xf32>, tensor<4xf32>
}
func.func @calls(%a: tensor<4xf32> {transformer.state = "a"}, %b: tensor<4xf32> {transformer.state = "b"})
    -> (tensor<4xf32>, tensor<4xf32> {transformer.state = "b"}, tensor<4xf32> {transformer.state = "a"}, tensor<4xf32>) attributes {transformer.entry} {
  %y:2 = call @layer(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %z:2 = call @layer(%b) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y#0, %z#1, %y#1, %z#0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
