// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-cpu-prefetch-panels --canonicalize --cse | FileCheck %s

// Four rows at a time, k unrolled by 4, a block of 64 of 128 k, panels of 16 columns (one line):
// the first two row tiles fetch half of the next 64 rows in memory each, a line for every two k.
// Behind the panel's end these are the first rows of the next panel.
// CHECK-LABEL: func.func @four_rows
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x128x16xf32>, %[[P:[^ ]*]]: index, %{{.*}}: index, %[[BEGIN:[^ ]*]]: index, %[[END:[^ ]*]]: index)
// CHECK: scf.for %[[M:[^ ]*]] = %c0 to
// CHECK: %[[TILE:.*]] = arith.divui
// CHECK: %[[PART:.*]] = arith.muli %[[TILE]], %c32
// CHECK: %[[FIRST:.*]] = arith.minui %[[PART]], %c32
// CHECK: scf.for %[[K:[^ ]*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[DONE:.*]] = arith.subi %[[K]], %[[BEGIN]]
// CHECK: %[[HALF:.*]] = arith.divui %[[DONE]], %c2
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[HALF]]
// CHECK: %[[START:.*]] = arith.subi %[[K]], %[[DONE]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[START]], %c64
// CHECK: %[[ROW:.*]] = arith.addi %[[NEXT]], %[[OWN]]
// CHECK: memref.prefetch %[[W]][%[[P]], %[[ROW]], %c0], read, locality<2>, data : memref<3x128x16xf32>
// CHECK: %[[ROW2:.*]] = arith.addi %[[ROW]], %c1
// CHECK: memref.prefetch %[[W]][%[[P]], %[[ROW2]], %c0]
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

// Six products a step: as many lines as the step reads, 16 KiB (256 rows of a panel) behind them.
// CHECK-LABEL: func.func @steps
// CHECK-SAME: %[[W:[^ ]*]]: memref<3x128x6x16xf32>, %[[P:[^ ]*]]: index
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c128
// CHECK-COUNT-6: memref.prefetch %[[W]][%[[P]], %[[K]], %{{c25[6-9]|c26[01]}}, %c0], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read
func.func @steps(%w: memref<3x128x6x16xf32>, %p: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %z = arith.constant 0.0 : f32
  %v = arith.constant dense<0.0> : vector<16xf32>
  %r:4 = scf.for %k = %c0 to %c128 step %c1 iter_args(%a = %v, %b = %v, %c = %v, %d = %v)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %x = vector.transfer_read %w[%p, %k, %c0, %c0], %z {in_bounds = [true]} : memref<3x128x6x16xf32>, vector<16xf32>
    %s = arith.addf %a, %x : vector<16xf32>
    scf.yield %s, %b, %c, %d : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 128>}
  return
}
