// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v4 --transformer-cpu-move-updates | FileCheck %s --check-prefixes=CHECK,MOVED
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v4 --transformer-cpu-move-updates --transformer-cpu-update-in-tiles | FileCheck %s --check-prefix=TILES
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-move-updates | FileCheck %s --check-prefixes=CHECK,STAYS

#all = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#columns = affine_map<(d0, d1) -> (d1)>

// Each of the four tasks gets as many of the rows; where tiles leave no registers, none.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[P:[^:]*]]: memref<?x32xf32>, %[[M:[^:]*]]: memref<?x32xf32>, %[[G:[^:]*]]: memref<?x32xf32>
// STAYS: linalg.generic
// STAYS-NOT: beside
// MOVED: %[[ROWS:.*]] = memref.dim %[[P]], %{{.*}}
// MOVED: %[[SHARE:.*]] = arith.ceildivui %[[ROWS]], %c4
// CHECK: scf.forall
// MOVED: %[[FIRST:.*]] = arith.minui %{{.*}}, %[[ROWS]]
// MOVED: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// MOVED: %[[OWN:.*]] = arith.minui %[[LEFT]], %[[SHARE]]
// MOVED: %[[OFG:.*]] = memref.subview %[[G]][%[[FIRST]], 0] [%[[OWN]], 32]
// MOVED: %[[OFP:.*]] = memref.subview %[[P]][%[[FIRST]], 0] [%[[OWN]], 32]
// MOVED: linalg.generic {{.*}} ins(%[[OFG]], %{{.*}}) outs(%[[OFP]], %{{.*}}) attrs = {transformer_cpu.linear = #transformer_cpu.linear<beside>}
// MOVED: scf.for

// 5 tiles of 24 steps, 8 a turn: of two vectors a row a fifteenth a turn, in units of 2^-20; what is left behind them.
// TILES-LABEL: func.func @update(
// TILES: scf.forall
// TILES: %[[OWN:.*]] = memref.dim
// TILES: %[[ALL:.*]] = arith.muli %[[OWN]], %c2{{.*}}
// TILES: %[[COUNT:.*]] = memref.alloca() {{.*}} : memref<1xindex>
// TILES: memref.store %c0{{.*}}, %[[COUNT]]
// TILES: %[[UNITS:.*]] = arith.muli %[[ALL]], %c1048576{{.*}}
// TILES: %[[RATE:.*]] = arith.ceildivui %[[UNITS]], %{{.*}}
// TILES: scf.for
// TILES: scf.for
// TILES: %[[BEFORE:.*]] = memref.load %[[COUNT]]
// TILES: %[[BEHIND:.*]] = arith.addi %[[BEFORE]], %[[RATE]]
// TILES: memref.store %[[BEHIND]], %[[COUNT]]
// TILES: %[[FROM:.*]] = arith.shrui %[[BEFORE]], %c20{{.*}}
// TILES: %[[A:.*]] = arith.minui %[[FROM]], %[[ALL]]
// TILES: %[[TO:.*]] = arith.shrui %[[BEHIND]], %c20{{.*}}
// TILES: %[[B:.*]] = arith.minui %[[TO]], %[[ALL]]
// TILES: scf.for %[[I:.*]] = %[[A]] to %[[B]]
// TILES: %[[ROW:.*]] = arith.divui %[[I]], %c2{{.*}}
// TILES: memref.prefetch
// TILES: vector.load %{{.*}}[%[[ROW]], %{{.*}}]
// TILES-COUNT-2: vector.store
// TILES: }
// TILES: vector.transfer_read
// TILES: %[[DONE:.*]] = memref.load %[[COUNT]]
// TILES: scf.for %{{.*}} to %[[ALL]]
// TILES-COUNT-2: vector.store
// TILES-NOT: linalg.generic
// TILES: return
func.func @update(%p: memref<?x32xf32>, %m: memref<?x32xf32>, %g: memref<?x32xf32>, %s: f32, %panels: memref<4x24x32xf32>) {
  linalg.generic {indexing_maps = [#all, #none, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%g, %s : memref<?x32xf32>, f32) outs(%p, %m : memref<?x32xf32>, memref<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %d, %0 : f32
    %2 = arith.subf %c, %1 : f32
    linalg.yield %2, %1 : f32, f32
  }
  func.call @product(%panels) : (memref<4x24x32xf32>) -> ()
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%t) in (4) {
    scf.for %row = %c0 to %c40 step %c8 {
      %sum = scf.for %k = %c0 to %c24 step %c8 iter_args(%so = %zeros) -> (vector<32xf32>) {
        %w = vector.transfer_read %panels[%t, %k, %c0], %zero {in_bounds = [true]} : memref<4x24x32xf32>, vector<32xf32>
        %more = arith.addf %so, %w : vector<32xf32>
        scf.yield %more : vector<32xf32>
      } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 24>}
      vector.transfer_write %sum, %panels[%t, %c0, %c0] {in_bounds = [true]} : vector<32xf32>, memref<4x24x32xf32>
    }
  }
  return
}

// Two tasks of two panels each, which go through the rows once a panel: 2 x 3 tiles of 3 turns.
// MOVED-LABEL: func.func @panels(
// MOVED: arith.ceildivui %{{.*}}, %c2
// MOVED: scf.forall (%[[T:.*]]) = (0) to (4) step (2)
// MOVED: %[[NUMBER:.*]] = arith.divui %[[T]], %c2
// MOVED: arith.addi %{{.*}}, %[[NUMBER]]
// MOVED: linalg.generic {{.*}}beside
// TILES-LABEL: func.func @panels(
// TILES: scf.for %[[PANEL:.*]] = %c0 to %c2 step
// TILES: %[[TURNS:.*]] = arith.muli %{{.*}}, %c3
// TILES: %[[BOTH:.*]] = arith.muli %[[TURNS]], %c2
// TILES: arith.ceildivui %{{.*}}, %[[BOTH]]
func.func @panels(%p: memref<8x32xf32>, %m: memref<8x32xf32>, %panels: memref<4x24x32xf32>) {
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} outs(%p, %m : memref<8x32xf32>, memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0, %a : f32, f32
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%t) = (0) to (4) step (2) {
    scf.for %own = %c0 to %c2 step %c1 {
      %panel = arith.addi %t, %own : index
      scf.for %row = %c0 to %c24 step %c8 {
        %sum = scf.for %k = %c0 to %c24 step %c8 iter_args(%so = %zeros) -> (vector<32xf32>) {
          %w = vector.transfer_read %panels[%panel, %k, %c0], %zero {in_bounds = [true]} : memref<4x24x32xf32>, vector<32xf32>
          %more = arith.addf %so, %w : vector<32xf32>
          scf.yield %more : vector<32xf32>
        } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 24>}
        vector.transfer_write %sum, %panels[%panel, %c0, %c0] {in_bounds = [true]} : vector<32xf32>, memref<4x24x32xf32>
      }
    }
  }
  return
}

// Not one that the op in between, or the product, reads; nor one whose rows are no whole vectors.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: beside
// CHECK: scf.forall
func.func @stay(%p: memref<8x32xf32>, %m: memref<8x32xf32>, %q: memref<4x24x32xf32>, %n: memref<96x32xf32>, %o: memref<8x20xf32>, %r: memref<8x20xf32>) {
  %flat = memref.collapse_shape %q [[0, 1], [2]] : memref<4x24x32xf32> into memref<96x32xf32>
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} outs(%p, %m : memref<8x32xf32>, memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %b, %a : f32, f32
  }
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} outs(%flat, %n : memref<96x32xf32>, memref<96x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %b, %a : f32, f32
  }
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} outs(%o, %r : memref<8x20xf32>, memref<8x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %b, %a : f32, f32
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<32xf32>
  %read = memref.load %m[%c0, %c0] : memref<8x32xf32>
  scf.forall (%t) in (4) {
    scf.for %row = %c0 to %c24 step %c1 {
      %sum = scf.for %k = %c0 to %c24 step %c1 iter_args(%so = %zeros) -> (vector<32xf32>) {
        %w = vector.transfer_read %q[%t, %k, %c0], %zero {in_bounds = [true]} : memref<4x24x32xf32>, vector<32xf32>
        %more = arith.addf %so, %w : vector<32xf32>
        scf.yield %more : vector<32xf32>
      } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 24>}
      vector.transfer_write %sum, %q[%t, %c0, %c0] {in_bounds = [true]} : vector<32xf32>, memref<4x24x32xf32>
    }
  }
  return
}
func.func private @product(memref<4x24x32xf32>)
