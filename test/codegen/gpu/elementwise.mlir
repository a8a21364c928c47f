// RUN: transformer-opt %s --transformer-gpu-emit-kernels --canonicalize --cse --split-input-file | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// A thread has four neighbours: of what lies so it reads vectors, of all else numbers.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @neighbours(
  // CHECK: scf.parallel (%[[ROW:.*]], %[[FOUR:.*]]) = ({{.*}}) to (%{{.*}}, %c10)
  // CHECK: %[[AT:.*]] = arith.muli %[[FOUR]], %c4
  // CHECK: vector.load %arg0[%[[ROW]], %[[AT]]] {{.*}} vector<4xf32>
  // CHECK: vector.load %arg1[%[[AT]]] {{.*}} vector<4xf32>
  // CHECK-COUNT-4: memref.load %arg2
  // CHECK-COUNT-8: arith.addf
  // CHECK: vector.store %{{.*}}, %arg3[%[[ROW]], %[[AT]]] {{.*}} vector<4xf32>
  func.func @neighbours(%x: memref<?x40xf32>, %b: memref<40xf32>, %z: memref<40x?xf32>, %y: memref<?x40xf32>) {
    linalg.generic {indexing_maps = [#all, #column, #turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b, %z : memref<?x40xf32>, memref<40xf32>, memref<40x?xf32>) outs(%y : memref<?x40xf32>) {
    ^bb0(%a: f32, %c: f32, %d: f32, %old: f32):
      %s = arith.addf %a, %c : f32
      %t = arith.addf %s, %d : f32
      linalg.yield %t : f32
    }
    return
  }
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>

// Rows of odd width: numbers a quarter of it apart, the last of which some threads have not.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @apart(
  // CHECK: scf.parallel (%[[ROW:.*]], %[[I:.*]]) = ({{.*}}) to (%{{.*}}, %c26)
  // CHECK: %[[LAST:.*]] = arith.addi %[[I]], %c78
  // CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[LAST]], %c101
  // CHECK-COUNT-3: memref.load %arg0
  // CHECK: scf.if %[[THERE]]
  // CHECK-COUNT-3: memref.store
  // CHECK: scf.if %[[THERE]]
  func.func @apart(%x: memref<?x101xf32>, %y: memref<?x101xbf16, strided<[104, 1]>>) {
    linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x101xf32>) outs(%y : memref<?x101xbf16, strided<[104, 1]>>) {
    ^bb0(%a: f32, %old: bf16):
      %h = arith.truncf %a : f32 to bf16
      linalg.yield %h : bf16
    }
    return
  }
}

// -----

// A copy is such an op. Without a target a thread has a number.
// CHECK-LABEL: @copy(
// CHECK: scf.parallel (%[[ROW:.*]], %[[COLUMN:.*]]) = (%c0, %c0) to (%{{.*}}, %c40)
// CHECK: %[[X:.*]] = memref.load %arg0[%[[ROW]], %[[COLUMN]]]
// CHECK: memref.store %[[X]], %arg1[%[[ROW]], %[[COLUMN]]]
func.func @copy(%x: memref<?x40xf32>, %y: memref<?x40xf32>) {
  memref.copy %x, %y : memref<?x40xf32> to memref<?x40xf32>
  return
}
