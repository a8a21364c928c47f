// RUN: transformer-opt %s --split-input-file --transformer-differentiate --transformer-chunk-loss --canonicalize --cse | FileCheck %s
// RUN: not transformer-opt %s --split-input-file --transformer-chunk-loss=rows=0 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: rows 0: expected at least 1

transformer.parameter @w : tensor<50x8xf32>
transformer.parameter @b : tensor<50xf32>

// CHECK-LABEL: func.func @loss_and_gradients(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>)
// CHECK-DAG: %[[W:.*]] = transformer.get_parameter @w
// CHECK-DAG: %[[B:.*]] = transformer.get_parameter @b
// CHECK: %[[ALL:.*]]:3 = call @loss_and_gradients_of_rows(%[[X]], %[[LABELS]], %[[W]], %[[B]])
// CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2

// CHECK-LABEL: func.func private @loss_of_rows.first_rows(
// CHECK-NOT: gradient

// CHECK-LABEL: func.func private @loss_of_rows.next_rows(
// CHECK-NOT: gradient

// CHECK-LABEL: func.func private @loss_and_gradients_of_rows.first_rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>, %[[W:[^:]*]]: tensor<50x8xf32>, %[[B:[^:]*]]: tensor<50xf32>, %[[COUNT:[^:]*]]: tensor<f32>)
// CHECK: %[[T:.*]] = tensor.dim %[[X]]
// CHECK: %[[N:.*]] = arith.minui %[[T]], %{{.*}} : index
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, 0] [%[[N]], 8] [1, 1]
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[LABELS]][0] [%[[N]]] [1]
// CHECK: %[[Y:.*]] = transformer.linear %[[PART]], %[[W]] bias(%[[B]]
// CHECK: %[[MEAN:.*]] = transformer.cross_entropy %[[Y]], %[[OWN]] {label_smoothing = 1.000000e-01 : f64, padding_index = 3 : i64}
// CHECK: %[[HAS:.*]] = transformer.count_labels %[[OWN]] {padding_index = 3 : i64}
// CHECK: %[[SHARE:.*]] = arith.divf %[[HAS]], %[[COUNT]]
// CHECK: %[[LOSS:.*]] = arith.mulf %[[MEAN]], %[[SHARE]]
// CHECK: %[[DY:.*]] = transformer.cross_entropy_gradient %[[Y]], %[[OWN]], %[[SHARE]]
// CHECK-NOT: in_out
// CHECK: %[[DW:.*]] = transformer.linear_weight_gradient %[[PART]], %[[DY]] out_in
// CHECK: %[[DB:.*]] = transformer.sum_rows %[[DY]]
// CHECK: return %[[LOSS]], %[[DW]], %[[DB]]

// What is added to is written where it lies.
// CHECK-LABEL: func.func private @loss_and_gradients_of_rows.next_rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>, %[[W:[^:]*]]: tensor<50x8xf32>, %[[B:[^:]*]]: tensor<50xf32>, %[[COUNT:[^:]*]]: tensor<f32>, %[[START:[^:]*]]: index, %[[LOSS:[^:]*]]: tensor<f32> {transformer.state = "sum0"}, %[[DW:[^:]*]]: tensor<50x8xf32> {transformer.state = "sum1"}, %[[DB:[^:]*]]: tensor<50xf32> {transformer.state = "sum2"})
// CHECK: %[[T:.*]] = tensor.dim %[[X]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[T]], %[[START]]
// CHECK: %[[N:.*]] = arith.minui %[[LEFT]], %{{.*}} : index
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][%[[START]], 0] [%[[N]], 8] [1, 1]
// CHECK: %[[OWN:.*]] = linalg.copy ins(%[[PART]]
// CHECK: transformer.linear %[[OWN]], %[[W]]
// CHECK: %[[SUM:.*]] = arith.addf %[[LOSS]], %{{.*}} : tensor<f32>
// CHECK: %[[DY:.*]] = transformer.cross_entropy_gradient
// CHECK: %[[MORE:.*]] = transformer.linear_weight_gradient %[[OWN]], %[[DY]] onto(%[[DW]] : tensor<50x8xf32>) out_in
// CHECK: %[[OF:.*]] = transformer.sum_rows %[[DY]]
// CHECK: %[[BOTH:.*]] = arith.addf %[[DB]], %[[OF]]
// CHECK: return %[[SUM]], %[[MORE]], %[[BOTH]]

// CHECK-LABEL: func.func private @loss_and_gradients_of_rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>, %[[LABELS:[^:]*]]: tensor<?xi64>, %[[W:[^:]*]]: tensor<50x8xf32>, %[[B:[^:]*]]: tensor<50xf32>)
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 512 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[N:.*]] = transformer.count_labels %[[LABELS]] {padding_index = 3 : i64}
// CHECK: %[[COUNT:.*]] = arith.maximumf %[[N]], %[[ONE]]
// CHECK: %[[FIRST:.*]]:3 = call @loss_and_gradients_of_rows.first_rows(%[[X]], %[[LABELS]], %[[W]], %[[B]], %[[COUNT]])
// CHECK: %[[TOKENS:.*]] = tensor.dim %[[X]]
// CHECK: %[[ALL:.*]]:3 = scf.for %[[START:.*]] = %[[ROWS]] to %[[TOKENS]] step %[[ROWS]] iter_args(%[[LOSS:.*]] = %[[FIRST]]#0, %[[DW:.*]] = %[[FIRST]]#1, %[[DB:.*]] = %[[FIRST]]#2)
// CHECK:   %[[NEXT:.*]]:3 = func.call @loss_and_gradients_of_rows.next_rows(%[[X]], %[[LABELS]], %[[W]], %[[B]], %[[COUNT]], %[[START]], %[[LOSS]], %[[DW]], %[[DB]])
// CHECK:   scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[NEXT]]#2
// CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<50x8xf32>
  %b = transformer.get_parameter @b : tensor<50xf32>
  %y = transformer.linear %x, %w bias(%b : tensor<50xf32>) out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %loss = transformer.cross_entropy %y, %labels {label_smoothing = 0.1 : f64, padding_index = 3 : i64} : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Gradients of rows that depend on parameters are put where they belong; two losses of the same kind share functions.

transformer.parameter @w : tensor<50x8xf32>
transformer.parameter @v : tensor<8x8xf32>

// CHECK-LABEL: func.func @loss_and_gradients(
// CHECK: call @loss_and_gradients_of_rows(
// CHECK: call @loss_and_gradients_of_rows(
// CHECK-LABEL: func.func private @loss_and_gradients_of_rows.first_rows(
// CHECK: %[[DX:.*]] = transformer.linear %{{.*}}, %{{.*}} in_out : tensor<?x50xf32>, tensor<50x8xf32> -> tensor<?x8xf32>
// CHECK: tensor.insert_slice %[[DX]] into %{{.*}}[0, 0]
// CHECK-LABEL: func.func private @loss_and_gradients_of_rows.next_rows(
// CHECK-SAME: %[[START:[^:]*]]: index,
// CHECK-SAME: %[[ALL:[^:]*]]: tensor<?x8xf32> {transformer.state = "sum1"}
// CHECK: tensor.insert_slice %{{.*}} into %[[ALL]][%[[START]], 0]
// CHECK-LABEL: func.func private @loss_and_gradients_of_rows(
// CHECK-NOT: func.func private @loss_and_gradients_of_rows
func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>, %others: tensor<?xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<50x8xf32>
  %v = transformer.get_parameter @v : tensor<8x8xf32>
  %h = transformer.linear %x, %v out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %h, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %one = transformer.cross_entropy %y, %labels : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  %z = transformer.linear %x, %v out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %g = transformer.activation gelu %z : tensor<?x8xf32>
  %s = transformer.linear %g, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %other = transformer.cross_entropy %s, %others : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  %loss = arith.addf %one, %other : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Scores of a few classes, scores that something else reads, and numbers of rows that are known stay as they are.

// CHECK-LABEL: func.func @classes(
// CHECK-NOT: call
func.func @classes(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %labels: tensor<?xi64>) -> tensor<f32> {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x8xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @others(
// CHECK-NOT: call
func.func @others(%x: tensor<?x8xf32>, %w: tensor<50x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32>, tensor<?x50xf32>) {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss, %y : tensor<f32>, tensor<?x50xf32>
}

// CHECK-LABEL: func.func @loss(
// CHECK-NOT: call
transformer.parameter @w : tensor<50x8xf32>
func.func @loss(%x: tensor<4x8xf32>, %labels: tensor<4xi64>) -> tensor<f32> {
  %w = transformer.get_parameter @w : tensor<50x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<4x8xf32>, tensor<50x8xf32> -> tensor<4x50xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<4x50xf32>, tensor<4xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
