// RUN: transformer-opt %s --transformer-gpu-emit-kernels --split-input-file | FileCheck %s

#xs = affine_map<(d0, d1, d2) -> (d0, d2)>
#out_in = affine_map<(d0, d1, d2) -> (d1, d2)>
#ys = affine_map<(d0, d1, d2) -> (d0, d1)>

// The host chooses between two tiles: of many rows and of few. Both operands lie along the sum: lines of 16 and of 64
// numbers with four of space, three and four of them. 16 bytes at once; the columns are whole tiles, the rows are not.
// Sums take the place of what was multiplied and are added to what is in memory by neighbouring threads.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @linear(
  // CHECK: scf.if
  // CHECK: scf.parallel
  // CHECK: memref.alloca() : memref<69632xi8, #gpu.address_space<workgroup>>
  // CHECK-COUNT-2: memref.view {{.*}} to memref<3x128x20xf32, #gpu.address_space<workgroup>>
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 4, %{{.*}} {bypassL1} : memref<?x64xf32> to
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 4 {bypassL1} : memref<128x64xf32> to
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: scf.for
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK-NEXT: gpu.barrier
  // CHECK: llvm.intr.fmuladd
  // CHECK: memref.view {{.*}} to memref<128x136xf32, #gpu.address_space<workgroup>>
  // CHECK-NEXT: gpu.barrier
  // CHECK-COUNT-64: memref.store
  // CHECK: gpu.barrier
  // CHECK: vector.load {{.*}} : memref<?x128xf32>, vector<4xf32>
  // CHECK: vector.store {{.*}} : memref<?x128xf32>, vector<4xf32>
  // CHECK: scf.if
  // CHECK: scf.parallel
  // CHECK: memref.view {{.*}} to memref<4x16x68xf32, #gpu.address_space<workgroup>>
  // CHECK: memref.view {{.*}} to memref<4x32x68xf32, #gpu.address_space<workgroup>>
  // CHECK: nvvm.cp.async.wait.group 2
  func.func @linear(%x: memref<?x64xf32>, %w: memref<128x64xf32>, %y: memref<?x128xf32>) {
    linalg.matmul indexing_maps = [#xs, #out_in, #ys] ins(%x, %w : memref<?x64xf32>, memref<128x64xf32>)
      outs(%y : memref<?x128xf32>)
    return
  }

  // A gradient of a weight: lines along the rows, of two numbers at once and of one, as many tokens as there are.
  // CHECK-LABEL: @weight_gradient(
  // CHECK-NOT: scf.if
  // CHECK: scf.parallel
  // CHECK-COUNT-2: memref.view {{.*}} to memref<3x16x128xf32, #gpu.address_space<workgroup>>
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 2, %{{.*}} : memref<?x34xf32> to
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 1, %{{.*}} : memref<?x5xf32> to
  func.func @weight_gradient(%dy: memref<?x34xf32>, %x: memref<?x5xf32>, %y: memref<34x5xf32>) {
    linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, #ys]
      ins(%dy, %x : memref<?x34xf32>, memref<?x5xf32>) outs(%y : memref<34x5xf32>)
    return
  }

  // A weight of integers is copied as it is, 16 bytes at once. Numbers are made of them when they are there, of a stage
  // at a time, for all threads.
  // CHECK-LABEL: @int8(
  // CHECK: memref.view {{.*}} to memref<1x128x20xf32, #gpu.address_space<workgroup>>
  // CHECK: %[[BYTES:.*]] = memref.view {{.*}} to memref<3x128x16xi8, #gpu.address_space<workgroup>>
  // CHECK: nvgpu.device_async_copy {{.*}} : memref<20x32xf32> to
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 16, %{{.*}} {bypassL1} : memref<16x32xi8> to
  // CHECK: nvvm.cp.async.wait.group 1
  // CHECK-NEXT: gpu.barrier
  // CHECK: vector.load %[[BYTES]]{{.*}}, vector<4xi8>
  // CHECK-COUNT-4: arith.sitofp
  // CHECK: vector.store {{.*}} : memref<1x128x20xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  // CHECK: gpu.barrier
  func.func @int8(%x: memref<20x32xf32>, %q: memref<16x32xi8>, %y: memref<20x16xf32>) {
    linalg.generic {indexing_maps = [#xs, #out_in, #ys], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %q : memref<20x32xf32>, memref<16x32xi8>) outs(%y : memref<20x16xf32>) {
    ^bb0(%a: f32, %b: i8, %sum: f32):
      %r = arith.sitofp %b : i8 to f32
      %p = arith.mulf %a, %r : f32
      %next = arith.addf %sum, %p : f32
      linalg.yield %next : f32
    }
    return
  }

  // A weight of bf16 is copied as it is, too, and read as f32.
  // CHECK-LABEL: @bf16(
  // CHECK: memref.view {{.*}} to memref<4x16x68xf32, #gpu.address_space<workgroup>>
  // CHECK: %[[WEIGHT:.*]] = memref.view {{.*}} to memref<4x32x72xbf16, #gpu.address_space<workgroup>>
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8 {bypassL1} : memref<64x128xbf16> to
  // CHECK: vector.load %[[WEIGHT]]{{.*}}, vector<4xbf16>
  // CHECK: arith.extf
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: return
  func.func @bf16(%x: memref<3x128xf32>, %w: memref<64x128xbf16>, %y: memref<3x64xf32>) {
    linalg.generic {indexing_maps = [#xs, #out_in, #ys], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<3x128xf32>, memref<64x128xbf16>) outs(%y : memref<3x64xf32>) {
    ^bb0(%a: f32, %b: bf16, %sum: f32):
      %1 = arith.extf %b : bf16 to f32
      %2 = arith.mulf %a, %1 : f32
      %next = arith.addf %sum, %2 : f32
      linalg.yield %next : f32
    }
    return
  }

  // Of many rows: 8 warps of 64 rows and 32 columns, whose 64 sums a thread take the place of four stages.
  // CHECK-LABEL: @many(
  // CHECK: memref.alloca() : memref<69632xi8, #gpu.address_space<workgroup>>
  // CHECK: memref.view {{.*}} to memref<4x128x32xbf16, #gpu.address_space<workgroup>>
  // CHECK: memref.view {{.*}} to memref<4x32x128xbf16, #gpu.address_space<workgroup>>
  // CHECK: nvvm.cp.async.wait.group 2
  // CHECK-COUNT-32: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: memref.view {{.*}} to memref<128x136xf32, #gpu.address_space<workgroup>>
  func.func @many(%x: memref<512x768xbf16>, %w: memref<768x256xbf16>, %y: memref<512x256xf32>) {
    linalg.generic {indexing_maps = [#xs, affine_map<(d0, d1, d2) -> (d2, d1)>, #ys],
                    iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x768xbf16>, memref<768x256xbf16>) outs(%y : memref<512x256xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %next = arith.addf %sum, %3 : f32
      linalg.yield %next : f32
    }
    return
  }

  // bf16 on both sides: tensor cores. 4 matrices at once, the second operand's with its rows as columns.
  // CHECK-LABEL: @tensor_cores(
  // CHECK: memref.view {{.*}} to memref<4x16x128xbf16, #gpu.address_space<workgroup>>
  // CHECK: memref.view {{.*}} to memref<4x128x32xbf16, #gpu.address_space<workgroup>>
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8, %{{.*}} {bypassL1} : memref<16x32xbf16> to
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8, %{{.*}} {bypassL1} : memref<32x48xbf16> to
  // CHECK: nvgpu.ldmatrix %{{.*}} {numTiles = 4 : i32, transpose = false} : memref<4x16x128xbf16
  // CHECK: nvgpu.ldmatrix %{{.*}} {numTiles = 4 : i32, transpose = true} : memref<4x128x32xbf16
  // CHECK-COUNT-2: nvvm.mma.sync
  func.func @tensor_cores(%x: memref<16x32xbf16>, %w: memref<32x48xbf16>, %y: memref<16x48xf32>) {
    linalg.generic {indexing_maps = [#xs, affine_map<(d0, d1, d2) -> (d2, d1)>, #ys],
                    iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<16x32xbf16>, memref<32x48xbf16>) outs(%y : memref<16x48xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %next = arith.addf %sum, %3 : f32
      linalg.yield %next : f32
    }
    return
  }
}

// -----

// A product of its own writes what is made of a sum, without having read what is there; what it is made of is read
// first, of places in the result alone.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">} {
  // CHECK-LABEL: @product(
  // CHECK: %[[SUMS:.*]] = memref.view {{.*}} to memref<16x40xf32, #gpu.address_space<workgroup>>
  // CHECK: vector.load %[[SUMS]]{{.*}}, vector<4xf32>
  // CHECK: %[[SUM:.*]] = vector.extract
  // CHECK: %[[BIAS:.*]]:4 = scf.if %[[THERE:.*]] -> (f32, f32, f32, f32)
  // CHECK: vector.load %arg2[%[[COLUMN:.*]]] {{.*}}, vector<4xf32>
  // CHECK: %[[RESIDUAL:.*]]:4 = scf.if %[[THERE]] -> (f32, f32, f32, f32)
  // CHECK: vector.load %arg3[%[[ROW:.*]], %[[COLUMN]]] {{.*}}, vector<4xf32>
  // CHECK: scf.if %[[THERE]] {
  // CHECK: %[[BIASED:.*]] = arith.addf %[[SUM]], %[[BIAS]]#0
  // CHECK: arith.addf %[[BIASED]], %[[RESIDUAL]]#0
  // CHECK-COUNT-6: arith.addf
  // CHECK: vector.store %{{.*}}, %arg4[%[[ROW]], %[[COLUMN]]] {{.*}}, vector<4xf32>
  // CHECK: vector.store %{{.*}}, %arg3[%[[ROW]], %[[COLUMN]]] {{.*}}, vector<4xf32>
  func.func @product(%x: memref<16x64xf32>, %w: memref<64x128xf32>, %bias: memref<128xf32>, %r: memref<16x128xf32>,
      %y: memref<16x128xf32>) {
    transformer_gpu.product ins(%x, %w) with(%bias, %r) outs(%y, %r) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] terms {
    ^bb0(%row: index, %column: index, %depth: index, %a: f32, %b: f32):
      transformer_gpu.yield %a, %b : f32, f32
    } result {
    ^bb0(%row: index, %column: index, %number: f32, %b: f32, %old: f32):
      %biased = arith.addf %number, %b : f32
      %sum = arith.addf %biased, %old : f32
      transformer_gpu.yield %biased, %sum : f32, f32
    } : (memref<16x64xf32>, memref<64x128xf32>, memref<128xf32>, memref<16x128xf32>, memref<16x128xf32>, memref<16x128xf32>) -> ()
    return
  }
}

// -----

#xs = affine_map<(d0, d1, d2) -> (d0, d2)>
#out_in = affine_map<(d0, d1, d2) -> (d1, d2)>
#ys = affine_map<(d0, d1, d2) -> (d0, d1)>

// On sm_90a, both operands copied by boxes, whichever way they lie: clusters of two blocks for at most as many
// multiprocessors as there are, two warpgroups that multiply and one that copies; of the operand that a cluster's tiles
// have in common half, for both, of the other one all.
module attributes {transformer.target = #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx80">} {
  // CHECK-LABEL: @boxes(
  // CHECK: %[[ALL:.*]] = transformer_gpu.multiprocessors
  // CHECK: %[[PAIRS:.*]] = arith.divui %[[ALL]], %c2
  // CHECK: %[[CLUSTERS:.*]] = arith.minsi
  // CHECK: %[[BLOCKS:.*]] = arith.muli %[[CLUSTERS]], %c2
  // CHECK: scf.parallel {{.*}} to (%[[BLOCKS]], %c384)
  // CHECK-COUNT-8: nvvm.mbarrier.init
  // CHECK: nvvm.cluster.arrive
  // CHECK-NEXT: nvvm.cluster.wait
  // CHECK: nvvm.setmaxregister increase 232
  // CHECK-COUNT-4: nvvm.mapa
  // CHECK: nvvm.setmaxregister decrease 40
  // CHECK: transformer_gpu.tensor_map %arg0, 32 : memref<64x512xbf16>
  // CHECK: transformer_gpu.tensor_map %arg1, 96 : memref<768x64xbf16
  // CHECK: scf.if
  // CHECK-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}] : !llvm
  // CHECK: nvvm.cp.async.bulk.tensor{{.*}} multicast_mask = %c3_i16
  // CHECK: else
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor{{.*}} multicast_mask = %c3_i16
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}] : !llvm
  // CHECK-NOT: nvvm.cp.async.bulk.tensor
  // CHECK: nvvm.cluster.wait
  func.func @boxes(%x: memref<64x512xbf16>, %w: memref<768x64xbf16, strided<[1024, 1], offset: 64>>, %y: memref<512x768xf32>) {
    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, #out_in, #ys],
                    iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x512xbf16>, memref<768x64xbf16, strided<[1024, 1], offset: 64>>) outs(%y : memref<512x768xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %next = arith.addf %sum, %3 : f32
      linalg.yield %next : f32
    }
    return
  }

  // Rows that do not begin at multiples of 16 bytes all threads copy, and so a view from anywhere.
  // CHECK-LABEL: @odd(
  // CHECK: memref.alloca() : memref<163840xi8
  // CHECK: nvgpu.device_async_copy
  // CHECK-LABEL: @anywhere(
  // CHECK-NOT: nvvm.cp.async.bulk.tensor
  // CHECK: return
  func.func @odd(%x: memref<512x132xbf16>, %w: memref<768x132xbf16>, %y: memref<512x768xf32>) {
    linalg.generic {indexing_maps = [#xs, #out_in, #ys], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x132xbf16>, memref<768x132xbf16>) outs(%y : memref<512x768xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %next = arith.addf %sum, %3 : f32
      linalg.yield %next : f32
    }
    return
  }
  func.func @anywhere(%x: memref<512x128xbf16>, %w: memref<768x128xbf16, strided<[128, 1], offset: ?>>, %y: memref<512x768xf32>) {
    linalg.generic {indexing_maps = [#xs, #out_in, #ys], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<512x128xbf16>, memref<768x128xbf16, strided<[128, 1], offset: ?>>) outs(%y : memref<512x768xf32>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %1 = arith.extf %a : bf16 to f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %next = arith.addf %sum, %3 : f32
      linalg.yield %next : f32
    }
    return
  }
}

// -----

// Without a GPU as the target, a thread a number.
// CHECK-LABEL: @plain(
// CHECK-NOT: workgroup
func.func @plain(%x: memref<?x64xf32>, %w: memref<128x64xf32>, %y: memref<?x128xf32>) {
  linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    ins(%x, %w : memref<?x64xf32>, memref<128x64xf32>) outs(%y : memref<?x128xf32>)
  return
}
