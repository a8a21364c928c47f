// RUN: transformer-opt %s --transformer-gpu-narrow-calls --allow-unregistered-dialect | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>

// Of the arguments %x is read rounded alone, some of its columns too, so callers round it; of %both somebody reads the
// f32, and rows of 60 numbers do not begin at multiples of 16 bytes. A result that all callers round is rounded.
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[BOTH:.*]]: tensor<?x64xf32>, %[[ODD:.*]]: tensor<?x60xf32>) -> (tensor<?x64xbf16>, tensor<?x64xf32>)
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[X]][0, 16] {{.*}} : tensor<?x64xbf16> to tensor<?x16xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[BOTH]]
// CHECK: linalg.generic {{.*}} ins(%[[ODD]]
// CHECK: "test.multiply"(%[[X]], %[[SLICE]],
// CHECK: %[[Y:.*]] = "test.make"
// CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x64xf32>)
// CHECK: return %[[ROUNDED]], %[[BOTH]]
func.func private @layer(%x: tensor<?x64xf32>, %both: tensor<?x64xf32>, %odd: tensor<?x60xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %whole_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %whole = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x64xf32>) outs(%whole_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %columns = tensor.extract_slice %x[0, 16] [%rows, 16] [1, 1] : tensor<?x64xf32> to tensor<?x16xf32>
  %part_empty = tensor.empty(%rows) : tensor<?x16xbf16>
  %part = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%columns : tensor<?x16xf32>) outs(%part_empty : tensor<?x16xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x16xbf16>
  %third_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %third = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%both : tensor<?x64xf32>) outs(%third_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %fourth_empty = tensor.empty(%rows) : tensor<?x60xbf16>
  %fourth = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%odd : tensor<?x60xf32>) outs(%fourth_empty : tensor<?x60xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x60xbf16>
  "test.multiply"(%whole, %part, %third, %fourth) : (tensor<?x64xbf16>, tensor<?x16xbf16>, tensor<?x64xbf16>, tensor<?x60xbf16>) -> ()
  %y = "test.make"(%rows) : (index) -> tensor<?x64xf32>
  return %y, %both : tensor<?x64xf32>, tensor<?x64xf32>
}

// Rounded once for both calls, in front of the first; nobody rounds the first's result any more.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[ODD:.*]]: tensor<?x60xf32>)
// CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<?x64xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[FIRST:.*]]:2 = call @layer(%[[ROUNDED]], %[[X]], %[[ODD]])
// CHECK-NEXT: %[[SECOND:.*]]:2 = call @layer(%[[ROUNDED]], %[[FIRST]]#1, %[[ODD]])
// CHECK-NOT: linalg.generic
// CHECK: "test.multiply"(%[[FIRST]]#0, %[[SECOND]]#0)
func.func @step(%x: tensor<?x64xf32>, %odd: tensor<?x60xf32>) {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %a:2 = call @layer(%x, %x, %odd) : (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x60xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
  %b:2 = call @layer(%x, %a#1, %odd) : (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x60xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
  %one_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %one = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%a#0 : tensor<?x64xf32>) outs(%one_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  %two_empty = tensor.empty(%rows) : tensor<?x64xbf16>
  %two = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b#0 : tensor<?x64xf32>) outs(%two_empty : tensor<?x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x64xbf16>
  "test.multiply"(%one, %two) : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> ()
  return
}
