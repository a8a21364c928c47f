// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --canonicalize --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | FileCheck %s
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES
// The kernels of a GPU, its threads one after the other.
// RUN: transformer-opt %s --transformer-gpu-emit-kernels --scf-parallel-for-to-nested-fors | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES

// Width 5 is one whole vector of four lanes and a remainder of one.
memref.global constant @x : memref<2x5xf32> = dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, 0.0, 1.0, 0.0, 0.0]]>
memref.global constant @residual : memref<2x5xf32> = dense<[[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, -1.0, 3.0, 1.0]]>
memref.global constant @gamma : memref<5xf32> = dense<[1.0, 1.0, 1.0, 1.0, 2.0]>
memref.global constant @beta : memref<5xf32> = dense<[0.0, 0.0, 0.5, 0.0, 0.0]>

// CHECK-LABEL: func.func @norm
// CHECK: %[[ROWS:.*]] = memref.dim %{{.*}}, %c0
// CHECK-NOT: transformer_kernel.layer_norm
// CHECK: scf.forall
// CHECK-NEXT: transformer_kernel.work "layer_norm 5" "tokens={} width=5"(%[[ROWS]]) {bytes = array<i64: 80>, fixed_bytes = 40 : i64, flops = array<i64: 0>}
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW:.*]], %c1
// CHECK: memref.prefetch %[[X:.*]][%[[NEXT]], %{{.*}}], read
// CHECK: memref.prefetch %[[R:.*]][%[[NEXT]], %{{.*}}], read
// CHECK: vector.load %[[X]][%[[ROW]],
// CHECK: vector.load %[[R]][%[[ROW]],
// CHECK: vector.maskedload
// CHECK: math.sqrt
func.func @norm(%x: memref<?x5xf32>, %r: memref<?x5xf32>, %g: memref<5xf32>, %b: memref<5xf32>, %y: memref<?x5xf32>, %s: memref<?x5xf32>) {
  "transformer_kernel.layer_norm"(%x, %r, %g, %b, %y, %s) <{norm = #transformer.norm<eps = 0.0>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 2>}>
    : (memref<?x5xf32>, memref<?x5xf32>, memref<5xf32>, memref<5xf32>, memref<?x5xf32>, memref<?x5xf32>) -> ()
  return
}

// VALUES: [-1.41421, -0.707107, 0.5, 0.707107, 2.82843]
// VALUES: [-0.912871, 0, -0.412871, 1.82574, 0]
// VALUES: [0, 1, 0, 3, 1]
func.func @main() {
  %x = memref.get_global @x : memref<2x5xf32>
  %r = memref.get_global @residual : memref<2x5xf32>
  %g = memref.get_global @gamma : memref<5xf32>
  %b = memref.get_global @beta : memref<5xf32>
  %y = memref.alloc() : memref<2x5xf32>
  %s = memref.alloc() : memref<2x5xf32>
  %xd = memref.cast %x : memref<2x5xf32> to memref<?x5xf32>
  %rd = memref.cast %r : memref<2x5xf32> to memref<?x5xf32>
  %yd = memref.cast %y : memref<2x5xf32> to memref<?x5xf32>
  %sd = memref.cast %s : memref<2x5xf32> to memref<?x5xf32>
  call @norm(%xd, %rd, %g, %b, %yd, %sd) : (memref<?x5xf32>, memref<?x5xf32>, memref<5xf32>, memref<5xf32>, memref<?x5xf32>, memref<?x5xf32>) -> ()
  %yu = memref.cast %y : memref<2x5xf32> to memref<*xf32>
  %su = memref.cast %s : memref<2x5xf32> to memref<*xf32>
  call @printMemrefF32(%yu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%su) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
