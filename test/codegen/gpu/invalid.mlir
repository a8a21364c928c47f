// RUN: transformer-opt %s --transformer-gpu-map-threads --split-input-file --verify-diagnostics
// RUN: not transformer-compile %source_root/examples/encoder.mlir --target cuda --arch sm_70 -o %t 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: sm_70: expected sm_80 or sm_90a
// RUN: not transformer-compile %source_root/examples/encoder.mlir --target cuda --emit asm -o %t 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: --emit asm: expected dialect, fused, linalg, gpu, nvvm, ptx, cubin, object, exe or module

func.func @by_twos(%x: memref<4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // expected-error @below {{cannot be launched: expected loops from 0 by 1 without results}}
  scf.parallel (%i) = (%c0) to (%c4) step (%c2) {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}
