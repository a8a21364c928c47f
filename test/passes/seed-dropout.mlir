// RUN: transformer-opt %s --transformer-seed-dropout=function=loss | FileCheck %s
// RUN: transformer-opt %s --transformer-seed-dropout="function=loss rate=0" --canonicalize | FileCheck %s --check-prefix=NONE
// RUN: transformer-opt %s --canonicalize | FileCheck %s --check-prefix=INFERENCE
// RUN: transformer-opt %s --transformer-seed-dropout=function=outer | FileCheck %s --check-prefix=AGAIN
// RUN: not transformer-opt %s --transformer-seed-dropout="function=loss rate=1" 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not transformer-opt %s --transformer-seed-dropout=function=other 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: echo 'module attributes {transformer.other_dropping = "encoder_layerdrop"} {' > %t.mlir
// RUN: cat %s >> %t.mlir
// RUN: echo '}' >> %t.mlir
// RUN: transformer-opt %t.mlir --transformer-seed-dropout="function=loss rate=0.2" | FileCheck %s --check-prefix=INSTEAD
// RUN: not transformer-opt %t.mlir --transformer-seed-dropout=function=loss 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: drops in training what its field 'encoder_layerdrop' says, which is not supported; expected a rate, --dropout RATE
// INSTEAD: transformer.dropout %{{.*}} key(%{{.*}}) rate 2.000000e-01
// RATE: error: expected a rate of dropout in [0, 1), found 1
// ABSENT: error: has no function @other with a body

// A layer with two sites; who calls it without a key still can.
// CHECK-LABEL: func.func private @layer(
// CHECK: transformer.dropout %{{.*}} rate 1.000000e-01
// CHECK-LABEL: func.func private @layer_dropout(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[SEQ:.*]]: !transformer.sequences, %[[KEY:.*]]: i64)
// CHECK: transformer.attention {{.*}} dropout_key(%[[KEY]]) options<dropout = 2.000000e-01>
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[KEY]], %[[ONE]] : i64
// CHECK: transformer.dropout %{{.*}} key(%[[NEXT]]) rate 1.000000e-01
// INFERENCE-NOT: transformer.dropout
// INFERENCE-NOT: options<
func.func private @layer(%x: tensor<?x8xf32>, %seq: !transformer.sequences) -> tensor<?x8xf32> {
  %a = transformer.attention %x, %x, %x sequences(%seq, %seq) options<dropout = 0.2>
      {num_heads = 2 : i64, scale = 0.5 : f64} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y = transformer.dropout %a rate 0.1 : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func private @plain(
// CHECK-NOT: i64
func.func private @plain(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.activation relu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Each call has its own two keys.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<i64> {transformer.name = "dropout_seed"})
// CHECK: %[[FIRST:.*]] = tensor.extract %[[SEED]][] : tensor<i64>
// CHECK: call @layer_dropout(%{{.*}}, %{{.*}}, %[[FIRST]])
// CHECK: call @plain(%{{[^,]*}})
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[TWO]]
// CHECK: call @layer_dropout(%{{.*}}, %{{.*}}, %[[SECOND]])
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %[[FOUR]]
// CHECK: transformer.dropout %{{.*}} key(%[[LAST]]) rate 3.000000e-01
// NONE-NOT: transformer.dropout
// NONE-NOT: dropout_key
func.func @loss(%x: tensor<?x8xf32>, %seq: !transformer.sequences) -> tensor<?x8xf32> {
  %a = func.call @layer(%x, %seq) : (tensor<?x8xf32>, !transformer.sequences) -> tensor<?x8xf32>
  %b = func.call @plain(%a) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = func.call @layer(%b, %seq) : (tensor<?x8xf32>, !transformer.sequences) -> tensor<?x8xf32>
  %d = transformer.dropout %c rate 0.3 : tensor<?x8xf32>
  return %d : tensor<?x8xf32>
}

// One that calls itself: each call has a key, and the pass comes to an end.
// AGAIN-LABEL: func.func private @again_dropout(
// AGAIN: call @again_dropout(
// AGAIN-LABEL: func.func @outer(
// AGAIN: call @again_dropout(
func.func private @again(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = transformer.dropout %x rate 0.1 : tensor<?x8xf32>
  %z = func.call @again(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

func.func @outer(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = func.call @again(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
