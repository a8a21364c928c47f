// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer=optimizer=sgd --symbol-dce | FileCheck %s --check-prefix=SGD
// RUN: transformer-opt %s --transformer-differentiate --transformer-add-optimizer=optimizer=adafactor --symbol-dce | FileCheck %s --check-prefix=ADAFACTOR
// RUN: not transformer-opt %s --transformer-differentiate --transformer-add-optimizer=optimizer=lion 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: optimizer "lion": expected adamw, sgd or adafactor

// Other optimizers take other numbers, behind the rate, and keep other state.
// SGD-LABEL: func.func @train_step(
// SGD-SAME: "step"}, %[[RATE:[^:]*]]: tensor<f64> {transformer.name = "learning_rate"}, %[[MOMENTUM:[^:]*]]: tensor<f64> {transformer.name = "momentum"}, %[[DECAY:[^:]*]]: tensor<f64> {transformer.name = "weight_decay"}
// SGD-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"}, %[[M:[^:]*]]: tensor<4x8xf32> {transformer.state = "w.momentum_buffer"}, %[[B:[^:]*]]: tensor<4xf32> {transformer.state = "b"}
// SGD: call @sgd.4x8(%[[W]], %[[M]], %{{[^,]*}}, %{{[^,]*}}, %[[RATE]], %[[MOMENTUM]], %[[DECAY]])
// SGD: func.func private @sgd.4x8(%{{.*}}: tensor<4x8xf32> {transformer.state = "parameter"}, %{{.*}}: tensor<4x8xf32> {transformer.state = "momentum_buffer"}

// A matrix has moments of its rows and columns, a vector its own.
// ADAFACTOR-LABEL: func.func @train_step(
// ADAFACTOR-SAME: %[[T:[^:]*]]: tensor<i64> {transformer.name = "step"}, %[[RATE:[^:]*]]: tensor<f64> {transformer.name = "learning_rate"}, %[[FALLS:[^:]*]]: tensor<f64> {transformer.name = "beta2_decay"}
// ADAFACTOR-SAME: %[[EPS1:[^:]*]]: tensor<f64> {transformer.name = "eps1"}, %[[EPS2:[^:]*]]: tensor<f64> {transformer.name = "eps2"}, %[[D:[^:]*]]: tensor<f64> {transformer.name = "clip_threshold"}
// ADAFACTOR-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {transformer.state = "w"}, %[[R:[^:]*]]: tensor<4x1xf32> {transformer.state = "w.row_var"}, %[[C:[^:]*]]: tensor<1x8xf32> {transformer.state = "w.col_var"}
// ADAFACTOR-SAME: %[[B:[^:]*]]: tensor<4xf32> {transformer.state = "b"}, %[[V:[^:]*]]: tensor<4xf32> {transformer.state = "b.variance"}
// ADAFACTOR-SAME: tensor<4x8xf32> {transformer.state = "w"}, tensor<4x1xf32> {transformer.state = "w.row_var"}, tensor<1x8xf32> {transformer.state = "w.col_var"}, tensor<4xf32> {transformer.state = "b"}, tensor<4xf32> {transformer.state = "b.variance"})
// ADAFACTOR: call @adafactor.4x8(%[[W]], %[[R]], %[[C]], %{{[^,]*}}, %{{[^,]*}}, %[[T]], %[[RATE]], %[[FALLS]], %[[EPS1]], %[[EPS2]], %[[D]], %{{.*}})
// ADAFACTOR: call @adafactor.4(%[[B]], %[[V]],

transformer.parameter @w : tensor<4x8xf32>
transformer.parameter @b : tensor<4xf32>

func.func @loss(%x: tensor<?x8xf32>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %w = transformer.get_parameter @w : tensor<4x8xf32>
  %b = transformer.get_parameter @b : tensor<4xf32>
  %y = transformer.linear %x, %w bias(%b : tensor<4xf32>) out_in : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x4xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
