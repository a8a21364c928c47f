// RUN: transformer-opt %s --transformer-differentiate --transformer-chunk-loss=rows=2 --transformer-add-optimizer=tables --symbol-dce | FileCheck %s
// RUN: transformer-opt %s --transformer-differentiate --transformer-chunk-loss=rows=2 --transformer-add-optimizer --symbol-dce | FileCheck %s --check-prefix=PLAIN

transformer.parameter @words : tensor<11x8xf32>
transformer.parameter @places : tensor<5x8xf32>

// The head's gradient is made chunk by chunk: the squares are those that the last chunk leaves. Embeddings that add to
// it say by how much they raise them; a table that is no head is summed as it is.
// CHECK-LABEL: func.func @train_step(
// CHECK: %[[HEAD:.*]]:4 = call @[[CHUNKS:.*]](%
// CHECK: %[[PLACES:.*]] = transformer.embedding_gradient {{.*}} -> tensor<5x8xf32>
// CHECK: %[[OFPLACES:.*]] = call @squares.5x8(%[[PLACES]])
// CHECK: %[[ONCE:.*]], %[[MORE:.*]] = transformer.embedding_gradient {{.*}} onto(%[[HEAD]]#2)
// CHECK: %[[SUM:.*]] = arith.addf %[[HEAD]]#3, %[[MORE]]
// CHECK: %[[TWICE:.*]], %[[MOST:.*]] = transformer.embedding_gradient {{.*}} onto(%[[ONCE]]) {{.*}} -> tensor<11x8xf32>, tensor<f32>
// CHECK: %[[TIED:.*]] = arith.addf %[[SUM]], %[[MOST]]
// CHECK: %[[ATLEAST:.*]] = arith.maximumf %[[TIED]], %{{.*}} : tensor<f32>
// CHECK: arith.addf %[[ATLEAST]], %[[OFPLACES]]
// CHECK: call @adamw.11x8(%{{.*}}, %{{.*}}, %{{.*}}, %[[TWICE]],
// CHECK: func.func private @[[CHUNKS]](
// CHECK-NOT: func.func
// CHECK: %[[FIRST:.*]]:4 = call @{{.*}}.first_rows(
// CHECK: %[[ALL:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]]#0, %{{.*}} = %[[FIRST]]#1, %{{.*}} = %[[FIRST]]#2, %[[BEFORE:.*]] = %[[FIRST]]#3)
// CHECK: %[[NEXT:.*]]:4 = func.call @{{.*}}.next_rows(
// CHECK: %[[NUMBER:.*]] = tensor.extract %[[NEXT]]#3[]
// CHECK: %[[LEFT:.*]] = tensor.insert %[[NUMBER]] into %[[BEFORE]][]
// CHECK: scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[NEXT]]#2, %[[LEFT]]
// CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2, %[[ALL]]#3

// PLAIN-LABEL: func.func @train_step(
// PLAIN-NOT: embedding_gradient {{.*}} tensor<f32>
// PLAIN: call @squares.11x8(
func.func @loss(%ids: tensor<?xi64>, %others: tensor<?xi64>, %labels: tensor<?xi64>) -> (tensor<f32> {transformer.name = "loss"}) {
  %words = transformer.get_parameter @words : tensor<11x8xf32>
  %places = transformer.get_parameter @places : tensor<5x8xf32>
  %x = transformer.embedding %ids, %words : tensor<?xi64>, tensor<11x8xf32> -> tensor<?x8xf32>
  %y = transformer.embedding %others, %words {scale = 2.0 : f64, padding_index = 1 : i64} : tensor<?xi64>, tensor<11x8xf32> -> tensor<?x8xf32>
  %z = transformer.embedding %others, %places : tensor<?xi64>, tensor<5x8xf32> -> tensor<?x8xf32>
  %xy = arith.addf %x, %y : tensor<?x8xf32>
  %xyz = arith.addf %xy, %z : tensor<?x8xf32>
  %s = transformer.linear %xyz, %words out_in : tensor<?x8xf32>, tensor<11x8xf32> -> tensor<?x11xf32>
  %loss = transformer.cross_entropy %s, %labels : tensor<?x11xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
