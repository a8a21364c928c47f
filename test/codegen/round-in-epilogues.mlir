// DEFINE: %{tiled} = transformer-opt %s --transformer-to-linalg-on-tensors --canonicalize --cse
// DEFINE: %{buffers} = --transformer-pass-destinations --canonicalize --cse --transformer-cpu-tile --transformer-bufferize --canonicalize --cse --transformer-cpu-round-in-epilogues --canonicalize --cse
// RUN: %{tiled} --transformer-cpu-set-target=arch=sapphirerapids --transformer-cpu-pack-linear %{buffers} | FileCheck %s
// RUN: %{tiled} --transformer-cpu-set-target=arch=sapphirerapids/no-amx --transformer-cpu-pack-linear %{buffers} | FileCheck %s --check-prefix=PAIRS

// What the first layer computes is read by the second alone: a tile's epilogue writes a row of a register, at row / 16
// and its panel.
// CHECK-LABEL: @both(
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c16
// CHECK: %[[WORDS:.*]] = memref.alloc(%[[ROWS]]) {{.*}} : memref<?x2x1x16x16xi32>
// CHECK-NOT: memref<?x2x32xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[TILE:.*]] = %c0 to
// CHECK: scf.for %[[ROW:.*]] = %c0 to
// CHECK: %[[Y:.*]] = transformer.activation relu
// CHECK: %[[IN_BLOCK:.*]] = arith.addi %[[ROW]], %[[TILE]]
// CHECK: %[[AT:.*]] = arith.addi %[[IN_BLOCK]], %[[BLOCK]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: %[[HALVES:.*]] = vector.bitcast %[[ROUNDED]] : vector<32xbf16> to vector<16xi32>
// CHECK-DAG: %[[REGISTER:.*]] = arith.divui %[[AT]], %c16
// CHECK-DAG: %[[LINE:.*]] = arith.remui %[[AT]], %c16
// CHECK: vector.store %[[HALVES]], %[[WORDS]][%[[REGISTER]], %[[PANEL]], %c0, %[[LINE]], %c0]
// CHECK-NOT: transformer_cpu.bfloat16_rows
// CHECK: transformer_cpu.multiply_matrices ins(%[[WORDS]]

// Without registers it is a row of words.
// PAIRS-LABEL: @both(
// PAIRS: %[[WORDS:.*]] = memref.alloc({{.*}}) {{.*}} : memref<?x32xi32>
// PAIRS: transformer.activation relu
// PAIRS: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c16
// PAIRS: vector.store %{{.*}}, %[[WORDS]][%{{.*}}, %[[COLUMN]]] : memref<?x32xi32>, vector<16xi32>
// PAIRS-NOT: transformer_cpu.bfloat16_rows
// PAIRS: return
func.func @both(%r: tensor<?x32xf32>, %w: tensor<64x32xf32>, %w2: tensor<32x64xf32>) -> tensor<?x32xf32> {
  %x = transformer.quantize_rows bf16 %r : tensor<?x32xf32>
  %q = transformer.quantize_weight bf16 %w out_in : tensor<64x32xf32>
  %y = transformer.linear %x, %q out_in : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  %a = transformer.activation relu %y : tensor<?x64xf32>
  %x2 = transformer.quantize_rows bf16 %a : tensor<?x64xf32>
  %q2 = transformer.quantize_weight bf16 %w2 out_in : tensor<32x64xf32>
  %z = transformer.linear %x2, %q2 out_in : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// What is read besides stays, and rows are made of it.
// CHECK-LABEL: @read(
// CHECK-COUNT-2: transformer_cpu.bfloat16_rows
// PAIRS-LABEL: @read(
// PAIRS-COUNT-2: transformer_cpu.bfloat16_rows
func.func @read(%r: tensor<?x32xf32>, %w: tensor<64x32xf32>, %w2: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %x = transformer.quantize_rows bf16 %r : tensor<?x32xf32>
  %q = transformer.quantize_weight bf16 %w out_in : tensor<64x32xf32>
  %y = transformer.linear %x, %q out_in : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  %a = transformer.activation relu %y : tensor<?x64xf32>
  %x2 = transformer.quantize_rows bf16 %a : tensor<?x64xf32>
  %q2 = transformer.quantize_weight bf16 %w2 out_in : tensor<64x64xf32>
  %z = transformer.linear %x2, %q2 out_in : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %s = arith.addf %z, %a : tensor<?x64xf32>
  return %s : tensor<?x64xf32>
}
