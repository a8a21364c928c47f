// Each stage's text parses and verifies again, and the stages one after the
// other are the whole pipeline.
// RUN: transformer-opt %s --transformer-fuse -o %t.fused
// RUN: transformer-opt %t.fused --transformer-to-linalg-on-tensors -o %t.linalg
// RUN: transformer-opt %t.linalg --transformer-cpu-pack=arch=haswell -o %t.packed
// RUN: transformer-opt %t.packed --transformer-cpu-tile -o %t.tiled
// RUN: transformer-opt %t.tiled --transformer-cpu-to-buffers -o %t.buffers
// RUN: transformer-opt %t.buffers --transformer-cpu-to-llvm -o %t.llvm
// RUN: transformer-opt %s --transformer-to-cpu=arch=haswell -o %t.whole
// RUN: diff %t.llvm %t.whole

// RUN: FileCheck %s --input-file=%t.linalg --check-prefix=LINALG --implicit-check-not="transformer.linear" --implicit-check-not=transformer_cpu
// RUN: FileCheck %s --input-file=%t.packed --check-prefix=PACKED --implicit-check-not=linalg.matmul
// RUN: FileCheck %s --input-file=%t.tiled --check-prefix=TILED --implicit-check-not=linalg.generic --implicit-check-not=linalg.pack
// RUN: FileCheck %s --input-file=%t.buffers --check-prefix=BUFFERS --implicit-check-not=tensor. --implicit-check-not=linalg. --implicit-check-not=memref.alloc(
// RUN: FileCheck %s --input-file=%t.llvm --check-prefix=LLVM --implicit-check-not=" transformer." --implicit-check-not="{{linalg|tensor|scf|vector|memref|func|arith|cf|affine|ub|builtin}}."

// LINALG: linalg.matmul
// LINALG: transformer.activation gelu {{.*}} : f32
// PACKED: module attributes {transformer.target = #transformer_cpu.target<name = "haswell"
// PACKED: transformer.prepared
// PACKED: linalg.generic {{.*}} {transformer_cpu.linear = #transformer_cpu.linear<contraction, "f32">}
// TILED: scf.forall
// TILED: transformer_kernel.work "linear 20x33 gelu" "tokens={} K=20 N=33"
// BUFFERS-DAG: func.func @forward(%{{.*}}: memref<?x?xi64> {transformer.name = "input_ids"
// BUFFERS-DAG: vector.fma
// LLVM: llvm.mlir.global external constant @transformer_module

// The compiler stops at every stage; what it prints is what the pipelines print.
// RUN: transformer-compile %s --arch haswell --emit dialect -o - | transformer-opt -o %t.dialect
// RUN: transformer-opt %s | diff - %t.dialect
// RUN: transformer-compile %s --arch haswell --emit fused -o - | transformer-opt | diff - %t.fused
// RUN: transformer-compile %s --arch haswell --emit linalg -o - | transformer-opt | diff - %t.linalg
// What is on tensors is so for every target.
// RUN: transformer-compile %s --arch x86-64-v4/winograd --emit linalg -o - | transformer-opt | diff - %t.linalg
// RUN: transformer-compile %s --arch haswell --emit packed -o - | transformer-opt | diff - %t.packed
// RUN: transformer-compile %s --arch haswell --emit tiled -o - | transformer-opt | diff - %t.tiled
// RUN: transformer-compile %s --arch haswell --emit buffers -o - | transformer-opt | diff - %t.buffers
// RUN: transformer-compile %s --arch haswell --emit llvm -o - | transformer-opt | diff - %t.llvm
// RUN: transformer-compile %s --arch haswell --emit llvm-ir -o - | FileCheck %s --check-prefix=IR
// RUN: transformer-compile %s --arch haswell --emit asm -o - | FileCheck %s --check-prefix=ASM
// RUN: transformer-compile %s --arch haswell --emit object -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS --implicit-check-not=alloc --implicit-check-not=free
// RUN: transformer-compile %s --arch haswell -o %t.so
// RUN: llvm-nm -D --defined-only %t.so | FileCheck %s --check-prefix=EXPORTED

// IR: @transformer_module = {{.*}}constant { i32, i32, ptr, i64, i64, i64, ptr, i64 }
// IR: target-cpu"="haswell"
// ASM: vfmadd231ps {{.*}}%ymm
// ASM: transformer_module:
// SYMBOLS-DAG: U tr_parallel_for
// SYMBOLS-DAG: U tr_scope
// SYMBOLS-DAG: D transformer_module
// EXPORTED: D transformer_module
// EXPORTED-NOT: {{.}}

transformer.parameter @words : tensor<30x20xf32>
transformer.parameter @q : tensor<20x20xf32>
transformer.parameter @k : tensor<20x20xf32>
transformer.parameter @up : tensor<33x20xf32>
transformer.parameter @down : tensor<20x33xf32>
transformer.parameter @b : tensor<20xf32>
transformer.parameter @c : tensor<33xf32>
func.func private @layer(%x: tensor<?x20xf32>, %seq: !transformer.sequences, %wq: tensor<20x20xf32>, %wk: tensor<20x20xf32>, %b: tensor<20xf32>, %up: tensor<33x20xf32>, %c: tensor<33xf32>, %down: tensor<20x33xf32>) -> tensor<?x20xf32> {
  %y = transformer.encoder_layer gelu %x sequences(%seq) attention(%wq, %b, %wk, %b, %wq, %b, %wk, %b)
      ffn(%up, %c, %down, %b) norms(%b, %b, %b, %b) norm<eps = 1.0e-5> {num_heads = 4 : i64}
      : (tensor<?x20xf32>, !transformer.sequences, tensor<20x20xf32>, tensor<20xf32>, tensor<20x20xf32>, tensor<20xf32>, tensor<20x20xf32>, tensor<20xf32>, tensor<20x20xf32>, tensor<20xf32>, tensor<33x20xf32>, tensor<33xf32>, tensor<20x33xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}
func.func @forward(%input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 30>},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask"},
                   %position_ids: tensor<?x?xi64> {transformer.name = "position_ids", transformer.default = #transformer.default<columns>, transformer.range = array<i64: 0, 16>})
    -> (tensor<?x?x20xf32> {transformer.name = "last_hidden_state"}) attributes {transformer.entry} {
  %ids, %positions, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %words = transformer.get_parameter @words : tensor<30x20xf32>
  %wq = transformer.get_parameter @q : tensor<20x20xf32>
  %wk = transformer.get_parameter @k : tensor<20x20xf32>
  %up = transformer.get_parameter @up : tensor<33x20xf32>
  %down = transformer.get_parameter @down : tensor<20x33xf32>
  %b = transformer.get_parameter @b : tensor<20xf32>
  %c = transformer.get_parameter @c : tensor<33xf32>
  %e = transformer.embedding %ids, %words : tensor<?xi64>, tensor<30x20xf32> -> tensor<?x20xf32>
  %p = transformer.sinusoidal_position %positions interleaved max_positions 16 : tensor<?xi64> -> tensor<?x20xf32>
  %s = arith.addf %e, %p : tensor<?x20xf32>
  %n = transformer.layer_norm %s, %b, %b norm<eps = 1.0e-5> : tensor<?x20xf32>, tensor<20xf32>, tensor<20xf32> -> tensor<?x20xf32>
  %0 = call @layer(%n, %seq, %wq, %wk, %b, %up, %c, %down) {transformer.scope = "layer.0"} : (tensor<?x20xf32>, !transformer.sequences, tensor<20x20xf32>, tensor<20x20xf32>, tensor<20xf32>, tensor<33x20xf32>, tensor<33xf32>, tensor<20x33xf32>) -> tensor<?x20xf32>
  %1 = call @layer(%0, %seq, %wk, %wq, %b, %up, %c, %down) {transformer.scope = "layer.1"} : (tensor<?x20xf32>, !transformer.sequences, tensor<20x20xf32>, tensor<20x20xf32>, tensor<20xf32>, tensor<33x20xf32>, tensor<33xf32>, tensor<20x33xf32>) -> tensor<?x20xf32>
  %y = transformer.unpack_tokens %1, %seq : tensor<?x20xf32> -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}
