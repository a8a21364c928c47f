// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer='defer optimizer=sgd' --transformer-spread-updates --symbol-dce | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate=recompute=layer --transformer-add-optimizer='defer optimizer=sgd' --transformer-spread-updates --symbol-dce | FileCheck %s --check-prefix=RECOMPUTED

transformer.parameter @table : tensor<12x8xf32>
transformer.parameter @w0 : tensor<8x8xf32>
transformer.parameter @w1 : tensor<8x8xf32>
transformer.parameter @w2 : tensor<8x8xf32>
transformer.parameter @b : tensor<8xf32>

// In front of the product with its own weight a layer updates the next one's, and a share of the table's rows.
// CHECK-LABEL: func.func private @layer.saving(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[SCALE:[^:]*]]: tensor<f32>, %[[RATE:[^:]*]]: tensor<f64>, %{{[^:]*}}: tensor<f64>, %{{[^:]*}}: tensor<f64>, %[[LAST:[^:]*]]: i1,
// CHECK-SAME: %[[T:[^:]*]]: tensor<12x8xf32> {transformer.state = "update0"}, %[[TB:[^:]*]]: tensor<12x8xf32> {transformer.state = "update1"}, %[[TG:[^:]*]]: tensor<12x8xf32>, %[[ROW:[^:]*]]: index, %[[ROWS:[^:]*]]: index,
// CHECK-SAME: %[[N:[^:]*]]: tensor<8x8xf32> {transformer.state = "update2"}, %[[NB:[^:]*]]: tensor<8x8xf32> {transformer.state = "update3"}, %[[NG:[^:]*]]: tensor<8x8xf32>)
// CHECK-SAME: tensor<8x8xf32> {transformer.state = "update2"}, tensor<8x8xf32> {transformer.state = "update3"}, tensor<12x8xf32> {transformer.state = "update0"}, tensor<12x8xf32> {transformer.state = "update1"})
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[OFNEXT:.*]] = arith.select %[[LAST]], %{{.*}}, %{{.*}} : index
// CHECK: %[[NEW:[^,]*]], %[[NEWB:.*]] = transformer.sgd_update %[[N]], %[[NB]], %[[NG]], %[[SCALE]] rate %[[RATE]] {{.*}} rows(%{{.*}}, %[[OFNEXT]]) {skippable} : tensor<8x8xf32>
// CHECK: transformer.sgd_update %[[T]], %[[TB]], %[[TG]], %[[SCALE]] rate %[[RATE]] {{.*}} : tensor<12x8xf32>
// CHECK: transformer.linear %{{.*}}, %[[W]]
func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = transformer.linear %x, %w bias(%b : tensor<8xf32>) out_in : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// The first layer's weight and what is no matrix are updated in front; of the table the rows that are looked up, too.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<12x8xf32> {transformer.state = "table"}, %[[TABLEB:[^:]*]]: tensor<12x8xf32> {transformer.state = "table.momentum_buffer"},
// CHECK-SAME: %[[W0:[^:]*]]: tensor<8x8xf32> {transformer.state = "w0"}
// CHECK-SAME: %[[W1:[^:]*]]: tensor<8x8xf32> {transformer.state = "w1"}, %[[W1B:[^:]*]]: tensor<8x8xf32> {transformer.state = "w1.momentum_buffer"}
// CHECK-SAME: %[[W2:[^:]*]]: tensor<8x8xf32> {transformer.state = "w2"}
// CHECK-DAG: %[[FIRST:.*]]:2 = call @sgd.8x8(%[[W0]],
// CHECK-DAG: call @sgd.8(
// CHECK-NOT: call @sgd.12x8
// CHECK: transformer.embedding %{{.*}}, %[[TABLE]]
// CHECK: transformer.embedding %{{.*}}, %[[TABLEB]]
// CHECK: transformer.embedding %{{.*}}, %{{.*}} : tensor<?xi64>, tensor<12x8xf32>
// CHECK: transformer.sgd_update {{.*}} : tensor<?x8xf32>
// CHECK: %[[NO:.*]] = arith.constant false
// CHECK: %[[L0:.*]]:{{.*}} = call @layer.saving(%{{[^,]*}}, %[[FIRST]]#0, {{.*}}, %[[NO]], %[[TABLE]], %[[TABLEB]], %{{.*}}, %{{[^,]*}}, %{{[^,]*}}, %[[W1]], %[[W1B]], %{{.*}})
// CHECK: %[[L1:.*]]:{{.*}} = call @layer.saving(%[[L0]]#0, %[[L0]]#1, {{.*}}, %[[L0]]#3, %[[L0]]#4, %{{.*}}, %[[W2]],
// CHECK: %[[YES:.*]] = arith.constant true
// CHECK: %[[L2:.*]]:{{.*}} = call @layer.saving(%[[L1]]#0, %[[L1]]#1, {{.*}}, %[[YES]], %[[L1]]#3, %[[L1]]#4, {{.*}}, %[[FIRST]]#0, %[[FIRST]]#1,
// CHECK: transformer.linear %[[L2]]#0, %[[L2]]#3
// CHECK: return

// Where the backward calls the function as well, updates stay in front.
// RECOMPUTED-LABEL: func.func @train_step(
// RECOMPUTED: call @sgd.12x8
// RECOMPUTED-COUNT-3: call @sgd.8x8
// RECOMPUTED: call @layer(
func.func @loss(%ids: tensor<?xi64>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %table = transformer.get_parameter @table : tensor<12x8xf32>
  %w0 = transformer.get_parameter @w0 : tensor<8x8xf32>
  %w1 = transformer.get_parameter @w1 : tensor<8x8xf32>
  %w2 = transformer.get_parameter @w2 : tensor<8x8xf32>
  %b = transformer.get_parameter @b : tensor<8xf32>
  %x = transformer.embedding %ids, %table : tensor<?xi64>, tensor<12x8xf32> -> tensor<?x8xf32>
  %0 = call @layer(%x, %w0, %b) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = call @layer(%0, %w1, %b) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = call @layer(%1, %w2, %b) : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = transformer.linear %2, %table out_in : tensor<?x8xf32>, tensor<12x8xf32> -> tensor<?x12xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x12xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
