// RUN: transformer-opt %s --transformer-cpu-save-words --canonicalize | FileCheck %s

// What a forward keeps for a product alone is rounded where it is kept; what somebody else reads stays.
// CHECK-LABEL: func.func private @saving(
// CHECK-SAME: -> (tensor<?x9xf32>, tensor<?x5xi32>, tensor<?x9xf32>)
// CHECK: %[[Y:.*]] = transformer_kernel.layer_norm
// CHECK: %[[WORDS:.*]] = transformer_cpu.bfloat16_rows ins(%[[Y]]) {{.*}} -> tensor<?x5xi32>
// CHECK: return %[[Y]], %[[WORDS]], %[[Y]]
func.func private @saving(%x: tensor<?x9xf32>, %g: tensor<9xf32>, %b: tensor<9xf32>, %to: tensor<?x9xf32>) -> (tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x9xf32>) {
  %y = transformer_kernel.layer_norm ins(%x, %g, %b) outs(%to) norm<eps = 1.0e-5> : (tensor<?x9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<?x9xf32>) -> tensor<?x9xf32>
  return %y, %y, %y : tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x9xf32>
}

// CHECK-LABEL: func.func private @backward(
// CHECK-SAME: %[[A:[^:]*]]: tensor<?x5xi32>, %[[B:[^:]*]]: tensor<?x9xf32>
// CHECK: transformer_cpu.weight_gradient ins(%[[A]], %[[B]])
func.func private @backward(%a: tensor<?x9xf32>, %b: tensor<?x9xf32>, %c: tensor<9x9xf32>, %s: tensor<2x?x8xi32>, %p: tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<?x9xf32>) {
  %0:3 = transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (tensor<?x9xf32>, tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>)
  return %0#0, %b : tensor<9x9xf32>, tensor<?x9xf32>
}

// CHECK-LABEL: @step(
// CHECK-COUNT-2: call @saving({{.*}}) : {{.*}} -> (tensor<?x9xf32>, tensor<?x5xi32>, tensor<?x9xf32>)
// CHECK: call @backward({{.*}}) : (tensor<?x5xi32>, tensor<?x9xf32>,
func.func @step(%x: tensor<?x9xf32>, %g: tensor<9xf32>, %n: tensor<9xf32>, %to: tensor<?x9xf32>, %c: tensor<9x9xf32>, %s: tensor<2x?x8xi32>, %p: tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<9x9xf32>) {
  %0:3 = call @saving(%x, %g, %n, %to) : (tensor<?x9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<?x9xf32>) -> (tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x9xf32>)
  %1:3 = call @saving(%0#0, %g, %n, %to) : (tensor<?x9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<?x9xf32>) -> (tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x9xf32>)
  %2:2 = call @backward(%1#1, %1#2, %c, %s, %p) : (tensor<?x9xf32>, tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<?x9xf32>)
  %3:2 = call @backward(%0#1, %0#2, %c, %s, %p) : (tensor<?x9xf32>, tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<?x9xf32>)
  return %2#0, %3#0 : tensor<9x9xf32>, tensor<9x9xf32>
}

// Another reads one of the results: none is words.
// CHECK-LABEL: func.func private @read(
// CHECK-SAME: -> tensor<?x9xf32>
func.func private @read(%x: tensor<?x9xf32>, %to: tensor<?x9xf32>, %key: i64) -> tensor<?x9xf32> {
  %y = transformer_kernel.dropout ins(%x, %key) outs(%to) {rate = 0.1 : f64} : (tensor<?x9xf32>, i64, tensor<?x9xf32>) -> tensor<?x9xf32>
  return %y : tensor<?x9xf32>
}

// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %{{[^:]*}}: tensor<?x9xf32>
func.func private @product(%a: tensor<?x9xf32>, %c: tensor<9x9xf32>, %s: tensor<2x?x8xi32>, %p: tensor<1x?x32xi32>) -> tensor<9x9xf32> {
  %0:3 = transformer_cpu.weight_gradient ins(%a, %a) outs(%c, %s, %p) : (tensor<?x9xf32>, tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>)
  return %0#0 : tensor<9x9xf32>
}

func.func @both(%x: tensor<?x9xf32>, %to: tensor<?x9xf32>, %key: i64, %c: tensor<9x9xf32>, %s: tensor<2x?x8xi32>, %p: tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<9x9xf32>, tensor<?x9xf32>) {
  %0 = call @read(%x, %to, %key) : (tensor<?x9xf32>, tensor<?x9xf32>, i64) -> tensor<?x9xf32>
  %1 = call @product(%0, %c, %s, %p) : (tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> tensor<9x9xf32>
  %2 = call @read(%0, %to, %key) : (tensor<?x9xf32>, tensor<?x9xf32>, i64) -> tensor<?x9xf32>
  %3 = call @product(%2, %c, %s, %p) : (tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> tensor<9x9xf32>
  return %1, %3, %2 : tensor<9x9xf32>, tensor<9x9xf32>, tensor<?x9xf32>
}
