// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-prefetch-panels --canonicalize --cse | FileCheck %s

// Four rows at a time, k unrolled by 4, a block of 64 of 128 k, panels of 16 columns (one line): row
// tiles share the next 64 rows in memory, behind the panel's end the first of the next panel. A k of
// a tile fetches 1 / tiles of its 16 numbers, in 2^-20; a step the line where that ends, or the next one,
// too, where there are two tiles or three.
// CHECK-LABEL: func.func @four_rows
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x128x16xf32>, %[[P:[^ ]*]]: index, %[[M:[^ ]*]]: index, %[[BEGIN:[^ ]*]]: index, %[[END:[^ ]*]]: index)
// CHECK: %[[TILES:.*]] = arith.ceildivui %[[M]], %c4
// CHECK: %[[SOME:.*]] = arith.maxui %[[TILES]], %c2
// CHECK: %[[RATE:.*]] = arith.divui %c16777216, %[[SOME]]
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %[[SOME]], %c4
// CHECK: %[[APART:.*]] = arith.select %[[FEW]], %c16, %c0
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to
// CHECK: %[[TILE:.*]] = arith.divui %[[I]], %c4
// CHECK: %[[BEFORE:.*]] = arith.muli %[[TILE]], %c64
// CHECK: scf.for %[[K:[^ ]*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[DONE:.*]] = arith.subi %[[K]], %[[BEGIN]]
// CHECK: %[[ALL:.*]] = arith.addi %[[BEFORE]], %[[DONE]]
// CHECK: %[[SHARE:.*]] = arith.muli %[[ALL]], %[[RATE]]
// CHECK: %[[LINE:.*]] = arith.shrui %[[SHARE]], %c20
// CHECK: %[[START:.*]] = arith.subi %[[K]], %[[DONE]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[START]], %c64
// CHECK: memref.prefetch %[[W]][%[[P]], %[[NEXT]], %[[LINE]]], read, locality<2>, data : memref<3x128x16xf32>
// CHECK: %[[LINE2:.*]] = arith.addi %[[LINE]], %[[APART]]
// CHECK: memref.prefetch %[[W]][%[[P]], %[[NEXT]], %[[LINE2]]]
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read
func.func @four_rows(%w: memref<3x128x16xf32>, %p: index, %m: index, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %m step %c4 {
    %r:4 = scf.for %k = %begin to %end step %c4 iter_args(%a = %v, %b = %v, %c = %v, %d = %v)
        -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
      %x = vector.transfer_read %w[%p, %k, %c0], %z {in_bounds = [true]} : memref<3x128x16xf32>, vector<16xf32>
      %s = arith.addf %a, %x : vector<16xf32>
      scf.yield %s, %b, %c, %d : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
    } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 64>}
  }
  return
}

// One row: its own reads already take all the bandwidth.
// CHECK-LABEL: func.func @one_row
// CHECK-NOT: memref.prefetch
func.func @one_row(%w: memref<3x64x16xf32>, %p: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %m step %c1 {
    %r = scf.for %k = %c0 to %c64 step %c4 iter_args(%a = %v) -> (vector<16xf32>) {
      %x = vector.transfer_read %w[%p, %k, %c0], %z {in_bounds = [true]} : memref<3x64x16xf32>, vector<16xf32>
      %s = arith.addf %a, %x : vector<16xf32>
      scf.yield %s : vector<16xf32>
    } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 64>}
  }
  return
}

// One row and two panels of 8-bit weights, 16 columns: four k are a line of each panel, fetched of
// the panels two further on. Of float32 they are left alone.
// CHECK-LABEL: func.func @narrow_panels
// CHECK-SAME: %[[W:[^ ]*]]: memref<8x128x16xi8>, %[[P:[^ ]*]]: index, %[[Q:[^ ]*]]: index
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c128 step %c4
// CHECK: %[[P2:.*]] = arith.addi %[[P]], %c2
// CHECK: memref.prefetch %[[W]][%[[P2]], %[[K]], %c0], read, locality<2>, data
// CHECK: vector.transfer_read %[[W]][%[[P]], %[[K]], %c0]
// CHECK: %[[Q2:.*]] = arith.addi %[[Q]], %c2
// CHECK: memref.prefetch %[[W]][%[[Q2]], %[[K]], %c0], read, locality<2>, data
// CHECK: vector.transfer_read %[[W]][%[[Q]], %[[K]], %c0]
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @narrow_panels(%w: memref<8x128x16xi8>, %p: index, %q: index, %f: memref<8x128x16xf32>) -> (vector<16xi8>, vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %z = arith.constant 0 : i8
  %zf = arith.constant 0.0 : f32
  %v = arith.constant dense<0> : vector<16xi8>
  %vf = arith.constant dense<0.0> : vector<16xf32>
  %r:2 = scf.for %k = %c0 to %c128 step %c4 iter_args(%a = %v, %b = %v) -> (vector<16xi8>, vector<16xi8>) {
    %x = vector.transfer_read %w[%p, %k, %c0], %z {in_bounds = [true]} : memref<8x128x16xi8>, vector<16xi8>
    %y = vector.transfer_read %w[%q, %k, %c0], %z {in_bounds = [true]} : memref<8x128x16xi8>, vector<16xi8>
    %s = arith.addi %a, %x : vector<16xi8>
    %t = arith.addi %b, %y : vector<16xi8>
    scf.yield %s, %t : vector<16xi8>, vector<16xi8>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "int8", steps = 128, panels = 2>}
  %g:2 = scf.for %k = %c0 to %c128 step %c4 iter_args(%a = %vf, %b = %vf) -> (vector<16xf32>, vector<16xf32>) {
    %x = vector.transfer_read %f[%p, %k, %c0], %zf {in_bounds = [true]} : memref<8x128x16xf32>, vector<16xf32>
    %y = vector.transfer_read %f[%q, %k, %c0], %zf {in_bounds = [true]} : memref<8x128x16xf32>, vector<16xf32>
    %s = arith.addf %a, %x : vector<16xf32>
    %t = arith.addf %b, %y : vector<16xf32>
    scf.yield %s, %t : vector<16xf32>, vector<16xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 128, panels = 2>}
  %u = arith.addi %r#0, %r#1 : vector<16xi8>
  %h = arith.addf %g#0, %g#1 : vector<16xf32>
  return %u, %h : vector<16xi8>, vector<16xf32>
}

// Six products a step, two vectors wide, a block of 64 of 128 steps: tile t of as many as there are
// fetches part t of the next block (64 x 6 x 16 elements behind), as many lines of 16 elements in each
// step.
// CHECK-LABEL: func.func @wide_steps
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x128x6x16xf32>, %[[P:[^ ]*]]: index, %[[ROWS:[^ ]*]]: index, %[[BEGIN:[^ ]*]]: index, %[[END:[^ ]*]]: index)
// CHECK: %[[TILES:.*]] = arith.ceildivui %[[ROWS]], %c4
// CHECK: %[[LINES:.*]] = arith.ceildivui %c6, %[[TILES]]
// CHECK: %[[SHARE:.*]] = arith.muli %[[LINES]], %c16
// CHECK: %[[PART:.*]] = arith.muli %[[LINES]], %c1024
// CHECK: %[[LAST:.*]] = arith.subi %c12288, %[[PART]]
// CHECK: scf.for %[[M:[^ ]*]] = %c0 to %[[ROWS]] step %c4
// CHECK: %[[TILE:.*]] = arith.divui %[[M]], %c4
// CHECK: %[[OWN:.*]] = arith.muli %[[TILE]], %[[PART]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[OWN]], %c6144
// CHECK: %[[FIRST:.*]] = arith.minui %[[BEHIND]], %[[LAST]]
// CHECK: scf.for %[[K:[^ ]*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[DONE:.*]] = arith.subi %[[K]], %[[BEGIN]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[DONE]], %[[SHARE]]
// CHECK: %[[FROM:.*]] = arith.addi %[[BEFORE]], %[[FIRST]]
// CHECK: %[[START:.*]] = arith.subi %[[K]], %[[DONE]]
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to %[[LINES]]
// CHECK: %[[LINE:.*]] = arith.muli %[[I]], %c16
// CHECK: %[[AT:.*]] = arith.addi %[[FROM]], %[[LINE]]
// CHECK: memref.prefetch %[[W]][%[[P]], %[[START]], %c0, %[[AT]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read
func.func @wide_steps(%w: memref<3x128x6x16xf32>, %p: index, %m: index, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %m step %c4 {
    %r:4 = scf.for %k = %begin to %end step %c1 iter_args(%a = %v, %b = %v, %c = %v, %d = %v)
        -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
      %x = vector.transfer_read %w[%p, %k, %c0, %c0], %z {in_bounds = [true]} : memref<3x128x6x16xf32>, vector<16xf32>
      %s = arith.addf %a, %x : vector<16xf32>
      scf.yield %s, %b, %c, %d : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
    } {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 64>}
  }
  return
}

// One vector wide, so tall that there may be one tile: as many lines as the step reads, 16 KiB (512
// rows of a panel) behind them.
// CHECK-LABEL: func.func @steps
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x128x6x8xf32>, %[[P:[^ ]*]]: index
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c128
// CHECK-COUNT-3: memref.prefetch %[[W]][%[[P]], %[[K]], %{{c512|c514|c516}}, %c0], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read
func.func @steps(%w: memref<3x128x6x8xf32>, %p: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<8xf32>
  %r:4 = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %v, %b = %v, %c = %v, %d = %v)
      -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
    %x = vector.transfer_read %w[%p, %k, %c0, %c0], %z {in_bounds = [true]} : memref<3x128x6x8xf32>, vector<8xf32>
    %s = arith.addf %a, %x : vector<8xf32>
    scf.yield %s, %b, %c, %d : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 128>}
  return
}

// Tiles of matrix registers share the panel behind theirs: in each of their 2 steps as many of its 64 lines as make it
// up, one at least.
// CHECK-LABEL: func.func @registers
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x1x32x32xi32>, %[[P:[^ ]*]]: index
// CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c32
// CHECK: %[[SOME:.*]] = arith.maxui %[[TILES]], %c1
// CHECK: %[[STEPS:.*]] = arith.muli %[[SOME]], %c2
// CHECK: %[[SHARE:.*]] = arith.ceildivui %c64, %[[STEPS]]
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to
// CHECK: %[[TILE:.*]] = arith.divui %[[I]], %c32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[TILE]], %c2
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c32 step %c16
// CHECK: %[[STEP:.*]] = arith.divui %[[K]], %c16
// CHECK: %[[DONE:.*]] = arith.addi %[[BEFORE]], %[[STEP]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[DONE]], %[[SHARE]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %[[SHARE]]
// CHECK: %[[END:.*]] = arith.minui %[[BEHIND]], %c64
// CHECK: %[[NEXT:.*]] = arith.addi %[[P]], %c1
// CHECK: scf.for %[[LINE:[^ ]*]] = %[[FIRST]] to %[[END]] step %c1 {
// CHECK: %[[AT:.*]] = arith.muli %[[LINE]], %c16
// CHECK: memref.prefetch %[[W]][%[[NEXT]], %c0, %c0, %[[AT]]], read, locality<2>, data
// CHECK: }
// CHECK-NEXT: transformer_cpu.load_matrix 6
func.func @registers(%w: memref<3x1x32x32xi32>, %p: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %m step %c32 {
    scf.for %k = %c0 to %c32 step %c16 {
      transformer_cpu.load_matrix 6, %w[%p, %c0, %k, %c0] : memref<3x1x32x32xi32>
    } {transformer_cpu.linear = #transformer_cpu.linear<loop, "bf16-matrix", steps = 32>}
  }
  return
}
