// RUN: transformer-opt %s --transformer-plan-memory --canonicalize --cse | FileCheck %s --implicit-check-not=memref.alloc(

// Two buffers that are alive together stand behind each other, on cache lines.
// CHECK-LABEL: func.func @overlapping(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x8xf32>, %[[Y:[^:]*]]: memref<?x8xf32> {transformer.name = "y"}, %[[ARENA:[^:]*]]: memref<?xi8>)
// CHECK: %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%c0][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: %[[OFFSET:.*]] = arith.muli %[[N]], %c64
// CHECK: %[[B:.*]] = memref.view %[[ARENA]][%[[OFFSET]]][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK-LABEL: func.func private @overlapping.arena_bytes(
// CHECK-SAME: %{{.*}}: memref<?x8xf32>, %{{.*}}: memref<?x8xf32>) -> index
// CHECK: %[[BOTH:.*]] = arith.muli %{{.*}}, %c128
// CHECK: return %[[BOTH]]
func.func @overlapping(%x: memref<?x8xf32>, %y: memref<?x8xf32> {transformer.name = "y"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = memref.alloc(%n) : memref<?x8xf32>
  memref.copy %x, %a : memref<?x8xf32> to memref<?x8xf32>
  %b = memref.alloc(%n) : memref<?x8xf32>
  memref.copy %a, %b : memref<?x8xf32> to memref<?x8xf32>
  memref.copy %b, %y : memref<?x8xf32> to memref<?x8xf32>
  return
}

// In a chain the third buffer takes the place of the first.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.*]] = memref.view %{{.*}}[%c0][] : memref<?xi8> to memref<5xf32>
// CHECK: %[[B:.*]] = memref.view %{{.*}}[%c64][] : memref<?xi8> to memref<5xf32>
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: memref.copy %[[B]], %[[A]]
// CHECK-LABEL: @chain.arena_bytes(
// CHECK: return %c128
func.func @chain(%x: memref<5xf32>, %y: memref<5xf32>) {
  %a = memref.alloc() : memref<5xf32>
  memref.copy %x, %a : memref<5xf32> to memref<5xf32>
  %b = memref.alloc() : memref<5xf32>
  memref.copy %a, %b : memref<5xf32> to memref<5xf32>
  %c = memref.alloc() : memref<5xf32>
  memref.copy %b, %c : memref<5xf32> to memref<5xf32>
  memref.copy %c, %y : memref<5xf32> to memref<5xf32>
  return
}

// One place, so one view.
// CHECK-LABEL: func.func @disjoint(
// CHECK: memref.view %{{.*}}[%c0][] : memref<?xi8> to memref<5xf32>
// CHECK-NOT: memref.view
// CHECK-LABEL: @disjoint.arena_bytes(
// CHECK: return %c64
func.func @disjoint(%x: memref<5xf32>, %y: memref<5xf32>) {
  %a = memref.alloc() : memref<5xf32>
  memref.copy %x, %a : memref<5xf32> to memref<5xf32>
  memref.copy %a, %y : memref<5xf32> to memref<5xf32>
  %b = memref.alloc() : memref<5xf32>
  memref.copy %x, %b : memref<5xf32> to memref<5xf32>
  memref.copy %b, %y : memref<5xf32> to memref<5xf32>
  return
}

// What a branch of a loop's turn keeps is the loop's.
// CHECK-LABEL: func.func @in_a_branch(
// CHECK: memref.view %{{.*}}[%c0][] : memref<?xi8> to memref<5xf32>
// CHECK: scf.for
// CHECK-LABEL: @in_a_branch.arena_bytes(
// CHECK: return %c64
func.func @in_a_branch(%x: memref<5xf32>, %y: memref<5xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    %few = arith.cmpi ult, %i, %c3 : index
    scf.if %few {
      %a = memref.alloc() : memref<5xf32>
      memref.copy %x, %a : memref<5xf32> to memref<5xf32>
      memref.copy %a, %y : memref<5xf32> to memref<5xf32>
    }
  }
  return
}

// A use through a view, in a loop, counts.
// CHECK-LABEL: func.func @used_in_a_loop(
// CHECK: memref.view %{{.*}}[%c0][]
// CHECK: memref.view %{{.*}}[%c64][]
// CHECK-LABEL: @used_in_a_loop.arena_bytes(
// CHECK: return %c128
func.func @used_in_a_loop(%x: memref<5xf32>, %y: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %a = memref.alloc() : memref<5xf32>
  %v = memref.subview %a[0] [4] [1] : memref<5xf32> to memref<4xf32>
  memref.copy %x, %a : memref<5xf32> to memref<5xf32>
  %b = memref.alloc() : memref<5xf32>
  memref.copy %x, %b : memref<5xf32> to memref<5xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    %0 = memref.load %v[%c0] : memref<4xf32>
    memref.store %0, %y[%i] : memref<5xf32>
  }
  return
}

// A callee's memory is a part of the caller's, where nothing is alive. Here it is always the same.
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: %[[X:[^:]*]]: memref<5xf32>, %[[Y:[^:]*]]: memref<5xf32>, %[[ARENA:[^:]*]]: memref<?xi8>)
// CHECK: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<5xf32>
// CHECK: %[[REST:.*]] = memref.view %[[ARENA]][%c64][] : memref<?xi8> to memref<64xi8>
// CHECK: %[[CAST:.*]] = memref.cast %[[REST]]
// CHECK: call @disjoint(%{{.*}}, %[[Y]], %[[CAST]]) {transformer.scope = "layer"}
// CHECK-LABEL: @caller.arena_bytes(
// CHECK: return %c128
func.func @caller(%x: memref<5xf32>, %y: memref<5xf32>) {
  %a = memref.alloc() : memref<5xf32>
  memref.copy %x, %a : memref<5xf32> to memref<5xf32>
  call @disjoint(%a, %y) {transformer.scope = "layer"} : (memref<5xf32>, memref<5xf32>) -> ()
  return
}

// Sizes that are computed from inputs are computed again.
// CHECK-LABEL: func.func @counted(
// CHECK-LABEL: @counted.arena_bytes(
// CHECK: %[[N:.*]] = transformer_kernel.count_tokens %{{.*}} : memref<?x?xi64>
// CHECK: arith.muli %[[N]], %c64
func.func @counted(%mask: memref<?x?xi64>) {
  %n = transformer_kernel.count_tokens %mask : memref<?x?xi64>
  %rows = memref.alloc(%n) : memref<?xindex>
  memref.assume_alignment %rows, 64 : memref<?xindex>
  return
}

// What a callee needs depends on its arguments: it is asked. What another always needs counts, too.
// CHECK-LABEL: func.func @caller_of_counted(
// CHECK-SAME: %[[MASK:[^:]*]]: memref<?x?xi64>
// CHECK: %[[ASKED:.*]] = call @counted.arena_bytes(%[[MASK]])
// CHECK: %[[NEED:.*]] = arith.maxui %[[ASKED]], %c64
// CHECK: memref.view %{{.*}}[%c0][%[[NEED]]]
// CHECK-LABEL: @caller_of_counted.arena_bytes(
// CHECK: call @counted.arena_bytes(
// CHECK: arith.maxui %{{.*}}, %c64
func.func @caller_of_counted(%mask: memref<?x?xi64>, %x: memref<5xf32>, %y: memref<5xf32>) {
  call @counted(%mask) : (memref<?x?xi64>) -> ()
  call @disjoint(%x, %y) : (memref<5xf32>, memref<5xf32>) -> ()
  return
}

// Two small ones take the place of a large one; what has other sizes stands behind it.
// CHECK-LABEL: func.func @small_in_large(
// CHECK-SAME: %[[ARENA:[^:]*]]: memref<?xi8>)
// CHECK: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<32xf32>
// CHECK: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c64][] : memref<?xi8> to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c128][%{{.*}}] : memref<?xi8> to memref<?x16xf32>
// CHECK-LABEL: @small_in_large.arena_bytes(
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c64
// CHECK: %[[ALL:.*]] = arith.addi %[[ROWS]], %c128
// CHECK: return %[[ALL]]
func.func @small_in_large(%x: memref<32xf32>, %y: memref<16xf32>, %z: memref<?x16xf32>, %n: index) {
  %a = memref.alloc() : memref<32xf32>
  memref.copy %x, %a : memref<32xf32> to memref<32xf32>
  memref.copy %a, %x : memref<32xf32> to memref<32xf32>
  %b = memref.alloc() : memref<16xf32>
  memref.copy %y, %b : memref<16xf32> to memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  memref.copy %b, %c : memref<16xf32> to memref<16xf32>
  memref.copy %c, %y : memref<16xf32> to memref<16xf32>
  %d = memref.alloc(%n) : memref<?x16xf32>
  memref.copy %z, %d : memref<?x16xf32> to memref<?x16xf32>
  memref.copy %d, %z : memref<?x16xf32> to memref<?x16xf32>
  return
}

// All turns of a loop have one place, which is taken as long as the loop runs.
// CHECK-LABEL: func.func @of_a_turn(
// CHECK-SAME: %[[ARENA:[^:]*]]: memref<?xi8>)
// CHECK-DAG: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<16xf32>
// CHECK-DAG: memref.view %[[ARENA]][%c64][] : memref<?xi8> to memref<16xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK-LABEL: @of_a_turn.arena_bytes(
// CHECK: return %c128
func.func @of_a_turn(%x: memref<16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<16xf32>
    memref.copy %a, %b : memref<16xf32> to memref<16xf32>
    memref.copy %b, %x : memref<16xf32> to memref<16xf32>
  }
  return
}
