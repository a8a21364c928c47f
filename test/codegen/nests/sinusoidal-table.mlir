// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --canonicalize --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s
// The kernels of a GPU, its threads one after the other.
// RUN: transformer-opt %s --transformer-gpu-emit-kernels --scf-parallel-for-to-nested-fors | %{lower} | %{run} | FileCheck %s

// CHECK: [0, 1, 0]
// CHECK: [0.841471, 0.540302, 0.00215443]
func.func @main() {
  %y = memref.alloc() : memref<2x3xf32>
  "transformer_kernel.sinusoidal_table"(%y) <{layout = #transformer<sinusoid_layout interleaved>}> : (memref<2x3xf32>) -> ()
  %u = memref.cast %y : memref<2x3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
