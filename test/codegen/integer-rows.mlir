// DEFINE: %{arch} = haswell
// DEFINE: %{pack} = transformer-opt %s --transformer-to-linalg-on-tensors --transformer-cpu-set-target=arch=%{arch} --transformer-cpu-pack-linear --transformer-pass-destinations
// DEFINE: %{buffers} = %{pack} --canonicalize --cse --transformer-cpu-tile --transformer-cpu-to-buffers
// RUN: %{pack} | FileCheck %s --implicit-check-not=transformer.quantize
// RUN: %{buffers} | FileCheck %s --check-prefixes=BUFFERS,AVX2 --implicit-check-not=dot_bytes
// REDEFINE: %{arch} = alderlake
// RUN: %{buffers} | FileCheck %s --check-prefixes=BUFFERS,VNNI --implicit-check-not=dot_bytes
// REDEFINE: %{arch} = cascadelake/no-winograd
// RUN: %{buffers} | FileCheck %s --check-prefixes=AVX512 --implicit-check-not=dot_bytes
// REDEFINE: %{arch} = aarch64
// RUN: %{buffers} | FileCheck %s --check-prefix=ANY --implicit-check-not=dot_bytes --implicit-check-not=call_intrinsic

// A step is a group of 32 whose products are summed in 32 bits, from what 128 too much in each weight
// amounts to; the row's scale is the group's, the column's the epilogue's.
// CHECK-LABEL: @int8(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x40xf32>, %[[W:[^:]*]]: tensor<64x40xf32>
// CHECK: %[[S:.*]] = transformer_cpu.weight_scales int8 out_in ins(%[[W]]) {{.*}} -> tensor<4x1x16xf32>
// CHECK: transformer_cpu.integer_rows offset 128 ins(%[[X]]) {{.*}} -> tensor<?x2x10xi32>
// CHECK: transformer_cpu.pack_weight out_in ins(%[[W]]) scales(%[[S]]) {{.*}} -> tensor<4x2x8x16xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME: transformer_cpu.linear = #transformer_cpu.linear<contraction, "int8-integer">
// CHECK-COUNT-8: transformer_cpu.dot_bytes %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK: linalg.generic {{.*}} ins(%[[S]] :
// CHECK-SAME: #transformer_cpu.linear<epilogue>

// A row goes through two panels at once, two registers each: eight words of four are as many
// instructions where bytes have one.
// BUFFERS-LABEL: @int8(
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"({{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// VNNI: scf.for
// VNNI-COUNT-32: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"({{.*}}) : (vector<8xi32>, vector<32xi8>, vector<32xi8>) -> vector<8xi32>
// VNNI-NOT: llvm.call_intrinsic
// VNNI: } else {
// AVX512-LABEL: @int8(
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// ANY-LABEL: @int8(
// ANY: arith.muli {{.*}} : vector<4xi32>
func.func @int8(%x: tensor<?x40xf32>, %w: tensor<64x40xf32>) -> tensor<?x64xf32> {
  %r = transformer.quantize_rows int8 %x : tensor<?x40xf32>
  %q = transformer.quantize_weight int8 %w out_in : tensor<64x40xf32>
  %0 = transformer.linear %r, %q out_in : tensor<?x40xf32>, tensor<64x40xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Two words of bytes from each word of nibbles.
// CHECK-LABEL: @int4(
// CHECK: transformer_cpu.integer_rows offset 8 {{.*}} -> tensor<?x2x10xi32>
// CHECK: transformer_cpu.pack_weight {{.*}} -> tensor<4x2x4x16xi32>
// CHECK: #transformer_cpu.linear<contraction, "int4-integer">
// CHECK: transformer_cpu.dot_bytes nibbles
// CHECK: arith.shrui
// CHECK: transformer_cpu.dot_bytes nibbles
// BUFFERS-LABEL: @int4(
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"({{.*}}) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
func.func @int4(%x: tensor<?x40xf32>, %w: tensor<64x40xf32>) -> tensor<?x64xf32> {
  %r = transformer.quantize_rows int8 %x : tensor<?x40xf32>
  %q = transformer.quantize_weight int4 %w out_in : tensor<64x40xf32>
  %0 = transformer.linear %r, %q out_in : tensor<?x40xf32>, tensor<64x40xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
