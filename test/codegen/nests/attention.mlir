// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --canonicalize --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | FileCheck %s
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES
// The kernels of a GPU, its threads one after the other.
// RUN: transformer-opt %s --transformer-gpu-emit-kernels --scf-parallel-for-to-nested-fors | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES

// One head of two columns. Queries of zero weigh all keys alike.
memref.global constant @q : memref<4x2xf32> = dense<0.0>
memref.global constant @v : memref<4x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 9.0], [7.0, 8.0]]>
memref.global constant @cu : memref<4xindex> = dense<[0, 3, 3, 4]>
memref.global constant @memory_cu : memref<4xindex> = dense<[0, 0, 2, 4]>

// CHECK-LABEL: func.func @causal
// CHECK-NOT: transformer_kernel.attention
// A query of a sequence of n sees all n keys, the one before it n - 1, ...
// CHECK: %[[PAIRS:[0-9]+]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (index) {
// CHECK: %[[QUERIES:.*]] = arith.subi
// CHECK: %[[KEYS:.*]] = arith.subi
// CHECK: %[[ALL:.*]] = arith.muli %[[QUERIES]], %[[KEYS]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[QUERIES]], %c1_{{.*}}
// CHECK: %[[TWICE:.*]] = arith.muli %[[QUERIES]], %[[BEFORE]]
// CHECK: %[[HIDDEN:.*]] = arith.divui %[[TWICE]], %c2
// CHECK: %[[SEEN:.*]] = arith.subi %[[ALL]], %[[HIDDEN]]
// CHECK: arith.addi %[[SUM]], %[[SEEN]]
// CHECK-NEXT: scf.yield
// CHECK: scf.forall
// CHECK-NEXT: transformer_kernel.work "attention 1x2" "sequences={} tokens={} pairs={} heads=1 head_dim=2 causal"(%{{.*}}, %{{.*}}, %[[PAIRS]]) {bytes = array<i64: 0, 32, 0>, fixed_bytes = 0 : i64, flops = array<i64: 0, 0, 8>}
func.func @causal(%q: memref<4x2xf32>, %v: memref<4x2xf32>, %cu: memref<4xindex>, %y: memref<4x2xf32>) {
  transformer_kernel.attention ins(%q, %v, %v, %cu, %cu) outs(%y)
    options<causal> {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64}
    : (memref<4x2xf32>, memref<4x2xf32>, memref<4x2xf32>, memref<4xindex>, memref<4xindex>, memref<4x2xf32>) -> ()
  return
}
// The first sequence's queries have no keys.
// CHECK-LABEL: func.func @cross
// CHECK: transformer_kernel.work "attention 1x2" "sequences={} tokens={} keys={} pairs={} heads=1 head_dim=2"({{.*}}) {bytes = array<i64: 0, 16, 16, 0>, fixed_bytes = 0 : i64, flops = array<i64: 0, 0, 0, 8>}
func.func @cross(%q: memref<4x2xf32>, %v: memref<4x2xf32>, %cu: memref<4xindex>, %ck: memref<4xindex>, %y: memref<4x2xf32>) {
  transformer_kernel.attention ins(%q, %v, %v, %cu, %ck) outs(%y)
    {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 1.0 : f64}
    : (memref<4x2xf32>, memref<4x2xf32>, memref<4x2xf32>, memref<4xindex>, memref<4xindex>, memref<4x2xf32>) -> ()
  return
}

// VALUES: [1, 2]
// VALUES: [2, 3]
// VALUES: [3, 5]
// VALUES: [7, 8]
// VALUES: [0, 0]
// VALUES: [0, 0]
// VALUES: [0, 0]
// VALUES: [6, 8.5]
func.func @main() {
  %q = memref.get_global @q : memref<4x2xf32>
  %v = memref.get_global @v : memref<4x2xf32>
  %cu = memref.get_global @cu : memref<4xindex>
  %ck = memref.get_global @memory_cu : memref<4xindex>
  %y = memref.alloc() : memref<4x2xf32>
  %yu = memref.cast %y : memref<4x2xf32> to memref<*xf32>
  call @causal(%q, %v, %cu, %y) : (memref<4x2xf32>, memref<4x2xf32>, memref<4xindex>, memref<4x2xf32>) -> ()
  call @printMemrefF32(%yu) : (memref<*xf32>) -> ()
  call @cross(%q, %v, %cu, %ck, %y) : (memref<4x2xf32>, memref<4x2xf32>, memref<4xindex>, memref<4xindex>, memref<4x2xf32>) -> ()
  call @printMemrefF32(%yu) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
