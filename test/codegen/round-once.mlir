// RUN: transformer-opt %s --transformer-cpu-round-once --canonicalize --allow-unregistered-dialect | FileCheck %s

// The gradient of a layer's result: three readers, words alone, which dropout writes.
// CHECK-LABEL: @gradient(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x41xf32>, %[[DY:[^:]*]]: tensor<?x64xf32>
// CHECK: %[[WORDS:.*]] = transformer_kernel.dropout ins(%[[DY]], %{{.*}}) outs(%{{.*}}) {{.*}} -> tensor<?x32xi32>
// CHECK-NOT: bfloat16_rows
// CHECK: transformer_cpu.weight_gradient ins(%[[X]], %[[WORDS]])
// CHECK: transformer_kernel.sum_rows ins(%[[WORDS]])
// CHECK: return %{{.*}}, %{{.*}}, %[[WORDS]]
func.func @gradient(%x: tensor<?x41xf32>, %dy: tensor<?x64xf32>, %key: i64, %count: index, %c: tensor<41x64xf32>, %s: tensor<6x?x8xi32>, %p: tensor<2x?x32xi32>, %b: tensor<64xf32>)
    -> (tensor<41x64xf32>, tensor<64xf32>, tensor<?x32xi32>) {
  %floats = tensor.empty(%count) : tensor<?x64xf32>
  %words = tensor.empty(%count) : tensor<?x32xi32>
  %d = transformer_kernel.dropout ins(%dy, %key) outs(%floats) {rate = 0.1 : f64} : (tensor<?x64xf32>, i64, tensor<?x64xf32>) -> tensor<?x64xf32>
  %0:3 = transformer_cpu.weight_gradient ins(%x, %d) outs(%c, %s, %p) : (tensor<?x41xf32>, tensor<?x64xf32>, tensor<41x64xf32>, tensor<6x?x8xi32>, tensor<2x?x32xi32>) -> (tensor<41x64xf32>, tensor<6x?x8xi32>, tensor<2x?x32xi32>)
  %1 = transformer_cpu.bfloat16_rows ins(%d) outs(%words) : (tensor<?x64xf32>, tensor<?x32xi32>) -> tensor<?x32xi32>
  %2 = transformer_kernel.sum_rows ins(%1) outs(%b) : (tensor<?x32xi32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = transformer_cpu.bfloat16_rows ins(%d) outs(%words) : (tensor<?x64xf32>, tensor<?x32xi32>) -> tensor<?x32xi32>
  return %0#0, %2, %3 : tensor<41x64xf32>, tensor<64xf32>, tensor<?x32xi32>
}

// Columns that products take in parts are columns of words; rows of them begin with a line.
// CHECK-LABEL: @parts(
// CHECK: %[[WORDS:.*]] = transformer_kernel.cross_entropy_gradient {{.*}} -> tensor<?x48xi32>
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[WORDS]][0, 0] [%{{.*}}, 32] [1, 1]
// CHECK: scf.for %[[AT:.*]] = %c64 to %{{.*}} step %c64
// CHECK: %[[HALF:.*]] = arith.divui %[[AT]], %c2
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[WORDS]][0, %[[HALF]]] [%{{.*}}, 3] [1, 1]
// CHECK: "test.read"(%[[PART]])
// CHECK: "test.read"(%[[FIRST]])
// CHECK: transformer_cpu.weight_gradient ins(%[[WORDS]], %{{.*}})
func.func @parts(%logits: tensor<?x69xf32>, %labels: tensor<?xi64>, %dloss: tensor<f32>, %x: tensor<?x32xf32>, %count: index, %end: index, %c: tensor<69x32xf32>, %s: tensor<9x?x8xi32>, %p: tensor<1x?x32xi32>) -> tensor<69x32xf32> {
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %floats = tensor.empty(%count) : tensor<?x69xf32>
  %d = transformer_kernel.cross_entropy_gradient ins(%logits, %labels, %dloss) outs(%floats) {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<?x69xf32>, tensor<?xi64>, tensor<f32>, tensor<?x69xf32>) -> tensor<?x69xf32>
  %left = tensor.extract_slice %d[0, 0] [%count, 64] [1, 1] : tensor<?x69xf32> to tensor<?x64xf32>
  %rows = tensor.dim %left, %c0 : tensor<?x64xf32>
  %words = tensor.empty(%rows) : tensor<?x32xi32>
  %0 = transformer_cpu.bfloat16_rows ins(%left) outs(%words) : (tensor<?x64xf32>, tensor<?x32xi32>) -> tensor<?x32xi32>
  scf.for %i = %c64 to %end step %c64 {
    %right = tensor.extract_slice %d[0, %i] [%count, 5] [1, 1] : tensor<?x69xf32> to tensor<?x5xf32>
    %few = tensor.empty(%count) : tensor<?x3xi32>
    %1 = transformer_cpu.bfloat16_rows ins(%right) outs(%few) : (tensor<?x5xf32>, tensor<?x3xi32>) -> tensor<?x3xi32>
    "test.read"(%1) : (tensor<?x3xi32>) -> ()
  }
  "test.read"(%0) : (tensor<?x32xi32>) -> ()
  %2:3 = transformer_cpu.weight_gradient ins(%d, %x) outs(%c, %s, %p) : (tensor<?x69xf32>, tensor<?x32xf32>, tensor<69x32xf32>, tensor<9x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<69x32xf32>, tensor<9x?x8xi32>, tensor<1x?x32xi32>)
  return %2#0 : tensor<69x32xf32>
}

// A norm whose rows others read as well writes both; a result that it finds rows in cannot be words alone.
// CHECK-LABEL: @norms(
// CHECK: %[[BOTH:.*]]:2 = transformer_kernel.layer_norm ins(%{{.*}}) outs(%{{.*}}, %{{.*}}) {{.*}} -> (tensor<?x8xf32>, tensor<?x4xi32>)
// CHECK: %[[SUMMED:.*]]:2 = transformer_kernel.layer_norm {{.*}}residual{{.*}} -> (tensor<?x8xf32>, tensor<?x4xi32>)
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1, %[[SUMMED]]#1
func.func @norms(%x: tensor<?x8xf32>, %r: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %count: index) -> (tensor<?x8xf32>, tensor<?x4xi32>, tensor<?x4xi32>) {
  %floats = tensor.empty(%count) : tensor<?x8xf32>
  %words = tensor.empty(%count) : tensor<?x4xi32>
  %0 = transformer_kernel.layer_norm ins(%x, %g, %b) outs(%floats) norm<eps = 1.0e-5> : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = transformer_cpu.bfloat16_rows ins(%0) outs(%words) : (tensor<?x8xf32>, tensor<?x4xi32>) -> tensor<?x4xi32>
  %2 = transformer_kernel.layer_norm ins(%x residual(%r), %g, %b) outs(%floats) norm<eps = 1.0e-5> : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = transformer_cpu.bfloat16_rows ins(%2) outs(%words) : (tensor<?x8xf32>, tensor<?x4xi32>) -> tensor<?x4xi32>
  return %0, %1, %3 : tensor<?x8xf32>, tensor<?x4xi32>, tensor<?x4xi32>
}

// Rows for one product alone, of a kernel that cannot round; columns that begin within a word.
// CHECK-LABEL: @apart(
// CHECK-COUNT-2: transformer_cpu.bfloat16_rows
// CHECK: transformer_cpu.weight_gradient ins(%{{.*}}, %{{.*}}) {{.*}} : (tensor<?x9xf32>, tensor<?x9xf32>
func.func @apart(%x: tensor<?x9xf32>, %count: index, %c: tensor<9x9xf32>, %s: tensor<2x?x8xi32>, %p: tensor<1x?x32xi32>) -> (tensor<?x2xi32>, tensor<?x1xi32>, tensor<9x9xf32>) {
  %words = tensor.empty(%count) : tensor<?x2xi32>
  %some = tensor.extract_slice %x[0, 1] [%count, 4] [1, 1] : tensor<?x9xf32> to tensor<?x4xf32>
  %0 = transformer_cpu.bfloat16_rows ins(%some) outs(%words) : (tensor<?x4xf32>, tensor<?x2xi32>) -> tensor<?x2xi32>
  %few = tensor.empty(%count) : tensor<?x1xi32>
  %odd = tensor.extract_slice %x[0, 7] [%count, 2] [1, 1] : tensor<?x9xf32> to tensor<?x2xf32>
  %1 = transformer_cpu.bfloat16_rows ins(%odd) outs(%few) : (tensor<?x2xf32>, tensor<?x1xi32>) -> tensor<?x1xi32>
  %2:3 = transformer_cpu.weight_gradient ins(%x, %x) outs(%c, %s, %p) : (tensor<?x9xf32>, tensor<?x9xf32>, tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>) -> (tensor<9x9xf32>, tensor<2x?x8xi32>, tensor<1x?x32xi32>)
  return %0, %1, %2#0 : tensor<?x2xi32>, tensor<?x1xi32>, tensor<9x9xf32>
}

// An activation is applied where its numbers are rounded, if nobody else reads them.
// CHECK-LABEL: @activations(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: %[[ALONE:.*]] = transformer_cpu.bfloat16_rows activation{{ +}}gelu ins(%[[X]])
// CHECK: %[[READ:.*]] = linalg.generic
// CHECK: %[[WORDS:.*]] = transformer_cpu.bfloat16_rows ins(%[[READ]])
// CHECK: return %[[ALONE]], %[[READ]], %[[WORDS]]
#rows = affine_map<(d0, d1) -> (d0, d1)>
func.func @activations(%x: tensor<?x8xf32>, %count: index) -> (tensor<?x4xi32>, tensor<?x8xf32>, tensor<?x4xi32>) {
  %floats = tensor.empty(%count) : tensor<?x8xf32>
  %words = tensor.empty(%count) : tensor<?x4xi32>
  %0 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x8xf32>) outs(%floats : tensor<?x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = transformer.activation gelu %in : f32
    linalg.yield %a : f32
  } -> tensor<?x8xf32>
  %1 = transformer_cpu.bfloat16_rows ins(%0) outs(%words) : (tensor<?x8xf32>, tensor<?x4xi32>) -> tensor<?x4xi32>
  %2 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x8xf32>) outs(%floats : tensor<?x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = transformer.activation silu %in : f32
    linalg.yield %a : f32
  } -> tensor<?x8xf32>
  %3 = transformer_cpu.bfloat16_rows ins(%2) outs(%words) : (tensor<?x8xf32>, tensor<?x4xi32>) -> tensor<?x4xi32>
  return %1, %2, %3 : tensor<?x4xi32>, tensor<?x8xf32>, tensor<?x4xi32>
}
