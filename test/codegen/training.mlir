// RUN: transformer-opt %s --transformer-to-linalg-on-tensors | FileCheck %s
// RUN: transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-pack-linear | FileCheck %s --check-prefix=CPU

// A product over the tokens; on a CPU with strips of the tile's six rows and panels of its sixteen columns.
// CHECK-LABEL: @weight(
// CHECK-SAME: %[[X:.*]]: tensor<?x20xf32>, %[[DY:.*]]: tensor<?x30xf32>
// CHECK: linalg.matmul {{.*}} ins(%[[DY]], %[[X]] : tensor<?x30xf32>, tensor<?x20xf32>) outs(%{{.*}} : tensor<30x20xf32>)
// CHECK: linalg.matmul {{.*}} ins(%[[X]], %[[DY]] : tensor<?x20xf32>, tensor<?x30xf32>) outs(%{{.*}} : tensor<20x30xf32>)
// CPU-LABEL: @weight(
// CPU-NOT: linalg.matmul
// CPU: transformer_cpu.weight_gradient ins(%{{.*}}, %{{.*}}) outs({{.*}}) : (tensor<?x30xf32>, tensor<?x20xf32>, tensor<30x20xf32>, tensor<5x?x6xf32>, tensor<2x?x16xf32>)
// CPU: transformer_cpu.weight_gradient ins(%{{.*}}, %{{.*}}) outs({{.*}}) : (tensor<?x20xf32>, tensor<?x30xf32>, tensor<20x30xf32>, tensor<4x?x6xf32>, tensor<2x?x16xf32>)
func.func @weight(%x: tensor<?x20xf32>, %dy: tensor<?x30xf32>) -> (tensor<30x20xf32>, tensor<20x30xf32>) {
  %0 = transformer.linear_weight_gradient %x, %dy out_in : tensor<?x20xf32>, tensor<?x30xf32> -> tensor<30x20xf32>
  %1 = transformer.linear_weight_gradient %x, %dy in_out : tensor<?x20xf32>, tensor<?x30xf32> -> tensor<20x30xf32>
  return %0, %1 : tensor<30x20xf32>, tensor<20x30xf32>
}

// CHECK-LABEL: @rows(
// CHECK: transformer_kernel.sum_rows ins(%{{.*}}) outs(%{{.*}}) : (tensor<?x20xf32>, tensor<20xf32>) -> tensor<20xf32>
// CHECK: transformer_kernel.norm_gradient {{.*}} : (tensor<?x20xf32>, tensor<20xf32>, tensor<?x20xf32>, tensor<?x20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<?x2xf32>)
// CHECK: transformer_kernel.norm_gradient {{.*}} {rms} : (tensor<?x20xf32>, tensor<5xf32>, tensor<?x20xf32>, tensor<?x20xf32>, tensor<5xf32>, tensor<?x8xf32>)
// CHECK: transformer_kernel.rotary_embedding {{.*}} {inverse, num_heads = 5 : i64}
func.func @rows(%x: tensor<?x20xf32>, %dy: tensor<?x20xf32>, %gamma: tensor<20xf32>, %part: tensor<5xf32>, %table: tensor<?x4xf32>)
    -> (tensor<20xf32>, tensor<?x20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<?x20xf32>, tensor<5xf32>, tensor<?x20xf32>) {
  %0 = transformer.sum_rows %dy : tensor<?x20xf32> -> tensor<20xf32>
  %1:3 = transformer.layer_norm_gradient %x, %gamma, %dy norm<eps = 1.0e-5> : tensor<?x20xf32>, tensor<20xf32>
  %2:2 = transformer.rms_norm_gradient %x, %part, %dy norm<eps = 1.0e-5> {num_heads = 4 : i64} : tensor<?x20xf32>, tensor<5xf32>
  %3 = transformer.rotary_embedding_gradient %dy, %table {num_heads = 5 : i64} : tensor<?x20xf32>, tensor<?x4xf32>
  return %0, %1#0, %1#1, %1#2, %2#0, %2#1, %3 : tensor<20xf32>, tensor<?x20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<?x20xf32>, tensor<5xf32>, tensor<?x20xf32>
}

// Scores' gradients are behind those of queries, keys and values.
// CHECK-LABEL: @places(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x60xf32>, %[[X:[^:]*]]: tensor<?x20xf32>, %[[TABLE:[^:]*]]: tensor<7x20xf32>, %[[SCORES:[^:]*]]: tensor<?x28xf32>
// CHECK: %[[COLUMNS:.*]] = arith.constant dense<[6, 3, 0]> : tensor<3xi32>
// CHECK: transformer_kernel.windows_gradient ins(%[[DY]], {{.*}} stride 2 padding 1 : {{.*}} -> tensor<?x20xf32>
// CHECK: transformer_kernel.relative_scores_gradient ins(%[[X]], %[[TABLE]], %[[SCORES]]) {{.*}} -> (tensor<?x20xf32>, tensor<7x20xf32>)
// CHECK: transformer_kernel.attention_gradient {{.*}} key_scores(%[[SCORES]]) columns(%[[COLUMNS]]) outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x28xf32>)
func.func @places(%dy: tensor<?x60xf32>, %x: tensor<?x20xf32>, %table: tensor<7x20xf32>, %scores: tensor<?x28xf32>, %sums: tensor<?x4xf32>, %ids: tensor<?x?xi64>)
    -> (tensor<?x20xf32>, tensor<?x20xf32>, tensor<7x20xf32>, tensor<?x28xf32>) {
  %packed, %seq = transformer.pack_tokens(%ids) mask(%ids) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %0 = transformer.windows_gradient %dy, %seq, %seq stride 2 padding 1 : tensor<?x60xf32> -> tensor<?x20xf32>
  %1:2 = transformer.relative_scores_gradient %x, %table, %scores {num_heads = 4 : i64} : tensor<?x20xf32>, tensor<7x20xf32>, tensor<?x28xf32>
  %2:4 = transformer.attention_gradient %x, %x, %x, %x, %sums, %x sequences(%seq, %seq) key_scores(%scores : tensor<?x28xf32> -> tensor<?x28xf32>) columns [6, 3, 0]
      {num_heads = 4 : i64, scale = 1.0 : f64} : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x4xf32>
  return %0, %1#0, %1#1, %2#3 : tensor<?x20xf32>, tensor<?x20xf32>, tensor<7x20xf32>, tensor<?x28xf32>
}

// Coefficients in double precision, then one op on all elements, in place of what it updates.
// CHECK-LABEL: @update(
// CHECK-SAME: %[[P:[^:]*]]: tensor<4x8xf32>, %[[M:[^:]*]]: tensor<4x8xf32>, %[[V:[^:]*]]: tensor<4x8xf32>, %[[G:[^:]*]]: tensor<4x8xf32>
// CHECK: math.powf %{{.*}} : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: linalg.generic {{.*}} ins(%[[G]], {{.*}} : tensor<4x8xf32>, f32, f32, f32, f32, f32, f32, f32) outs(%[[P]], %[[M]], %[[V]] :
func.func @update(%p: tensor<4x8xf32>, %m: tensor<4x8xf32>, %v: tensor<4x8xf32>, %g: tensor<4x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %r: tensor<f64>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:3 = transformer.adamw_update %p, %m, %v, %g, %scale step %t rate %r betas(%r, %r) epsilon %r decay %r : tensor<4x8xf32>
  return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Some rows are a slice that goes back to its place; of a step that is skipped there are none.
// CHECK-LABEL: @update_rows(
// CHECK-SAME: %[[P:[^:]*]]: tensor<4x8xf32>, %[[B:[^:]*]]: tensor<4x8xf32>, %[[G:[^:]*]]: tensor<4x8xf32>, {{.*}}, %[[FIRST:[^:]*]]: index, %[[END:[^:]*]]: index
// CHECK: %[[NAN:.*]] = arith.cmpf uno
// CHECK: %[[ROWS:.*]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = arith.select %[[NAN]], %{{.*}}, %[[ROWS]]
// CHECK: %[[OF:.*]] = tensor.extract_slice %[[G]][%[[FIRST]], 0] [%[[COUNT]], 8]
// CHECK: %[[NEW:.*]]:2 = linalg.generic {{.*}} ins(%[[OF]],
// CHECK-NOT: arith.select
// CHECK: tensor.insert_slice %[[NEW]]#0 into %[[P]][%[[FIRST]], 0] [%[[COUNT]], 8]
// CHECK: tensor.insert_slice %[[NEW]]#1 into %[[B]][%[[FIRST]], 0] [%[[COUNT]], 8]
func.func @update_rows(%p: tensor<4x8xf32>, %b: tensor<4x8xf32>, %g: tensor<4x8xf32>, %scale: tensor<f32>, %r: tensor<f64>, %first: index, %end: index)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:2 = transformer.sgd_update %p, %b, %g, %scale rate %r momentum %r decay %r rows(%first, %end) {skippable} : tensor<4x8xf32>
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// The squares of a product over tokens are its tasks' to sum: a number for each of its eight tiles.
// CPU-LABEL: @weight_squares(
// CPU: %[[OF:.*]]:5 = transformer_cpu.weight_gradient squares {{.*}} -> (tensor<20x30xf32>, tensor<4x?x6xf32>, tensor<2x?x16xf32>, tensor<f32>, tensor<8xf32>)
// CPU-NOT: transformer_kernel.sum_squares
// CPU: return %[[OF]]#0, %[[OF]]#3
func.func @weight_squares(%x: tensor<?x20xf32>, %dy: tensor<?x30xf32>) -> (tensor<20x30xf32>, tensor<f32>) {
  %0 = transformer.linear_weight_gradient %x, %dy in_out : tensor<?x20xf32>, tensor<?x30xf32> -> tensor<20x30xf32>
  %1 = transformer.sum_squares %0 : tensor<20x30xf32>
  return %0, %1 : tensor<20x30xf32>, tensor<f32>
}

// A convolution's gradient is a matrix here; scratch is a number a row.
// CHECK-LABEL: @squares(
// CHECK: %[[MATRIX:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<4x8x3xf32> into tensor<4x24xf32>
// CHECK: transformer_kernel.sum_squares ins(%[[MATRIX]]) {{.*}} : (tensor<4x24xf32>, tensor<f32>, tensor<4xf32>)
func.func @squares(%g: tensor<4x8x3xf32>) -> tensor<f32> {
  %0 = transformer.sum_squares %g : tensor<4x8x3xf32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @momentum(
// CHECK-SAME: %[[P:[^:]*]]: tensor<8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[G:[^:]*]]: tensor<8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[G]], {{.*}} : tensor<8xf32>, f32, f32, f32, f32) outs(%[[P]], %[[B]] :
func.func @momentum(%p: tensor<8xf32>, %b: tensor<8xf32>, %g: tensor<8xf32>, %scale: tensor<f32>, %r: tensor<f64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = transformer.sgd_update %p, %b, %g, %scale rate %r momentum %r decay %r : tensor<8xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// The share of new squares is step^decay. Scratch is a number a row.
// CHECK-LABEL: @factored(
// CHECK-SAME: %[[P:[^:]*]]: tensor<4x8xf32>, %[[R:[^:]*]]: tensor<4x1xf32>, %[[C:[^:]*]]: tensor<1x8xf32>, %[[G:[^:]*]]: tensor<4x8xf32>
// CHECK-DAG: %[[T:.*]] = arith.sitofp %{{.*}} : i64 to f64
// CHECK-DAG: %[[SHARE:.*]] = math.powf %[[T]], %{{.*}} : f64
// CHECK-DAG: %[[KEEP:.*]] = arith.subf %{{.*}}, %[[SHARE]] : f64
// CHECK-DAG: %[[SHARE32:.*]] = arith.truncf %[[SHARE]] : f64 to f32
// CHECK-DAG: %[[KEEP32:.*]] = arith.truncf %[[KEEP]] : f64 to f32
// CHECK: transformer_kernel.adafactor_update ins(%[[G]]) {{.*}} moments(%[[KEEP32]], %[[SHARE32]]) {{.*}} outs(%[[P]], %[[R]], %[[C]], %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>, tensor<1xf32>, tensor<4xf32>)
func.func @factored(%p: tensor<4x8xf32>, %r: tensor<4x1xf32>, %c: tensor<1x8xf32>, %g: tensor<4x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>)
    -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>) {
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %c : tensor<4x1xf32>, tensor<1x8xf32>) %g, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<4x8xf32>
  return %0, %1#0, %1#1 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>
}

// Of a convolution's weight: matrices, one below the other.
// CHECK-LABEL: @filter(
// CHECK-DAG: %[[P:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1, 2], [3]] : tensor<2x3x4x8xf32> into tensor<24x8xf32>
// CHECK-DAG: %[[R:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1, 2], [3]] : tensor<2x3x4x1xf32> into tensor<24x1xf32>
// CHECK-DAG: %[[C:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0, 1, 2], [3]] : tensor<2x3x1x8xf32> into tensor<6x8xf32>
// CHECK: %[[NEW:.*]]:5 = transformer_kernel.adafactor_update {{.*}} outs(%[[P]], %[[R]], %[[C]], %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<24x8xf32>, tensor<24x1xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<24xf32>)
// CHECK: tensor.expand_shape %[[NEW]]#2 {{\[\[}}0, 1, 2], [3]] {{.*}} : tensor<6x8xf32> into tensor<2x3x1x8xf32>
func.func @filter(%p: tensor<2x3x4x8xf32>, %r: tensor<2x3x4x1xf32>, %c: tensor<2x3x1x8xf32>, %g: tensor<2x3x4x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>)
    -> (tensor<2x3x4x8xf32>, tensor<2x3x4x1xf32>, tensor<2x3x1x8xf32>) {
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %c : tensor<2x3x4x1xf32>, tensor<2x3x1x8xf32>) %g, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<2x3x4x8xf32>
  return %0, %1#0, %1#1 : tensor<2x3x4x8xf32>, tensor<2x3x4x1xf32>, tensor<2x3x1x8xf32>
}
