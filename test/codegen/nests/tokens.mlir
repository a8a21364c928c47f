// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --canonicalize --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | FileCheck %s --implicit-check-not=transformer_kernel.{{[^w]}}
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES
// The kernels of a GPU, its threads one after the other.
// RUN: transformer-opt %s --transformer-gpu-emit-kernels --scf-parallel-for-to-nested-fors | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES

memref.global constant @mask : memref<3x2xi64> = dense<[[1, 1], [0, 0], [0, 1]]>
memref.global constant @ids : memref<3x2xi64> = dense<[[2, 0], [9, 9], [9, 1]]>
memref.global constant @table : memref<3x2xf32> = dense<[[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]]>

// CHECK: transformer_kernel.work "embedding 2" "tokens={} width=2 tables=1"
// CHECK: transformer_kernel.work "unpack_tokens 2" "tokens={} places={} width=2"
// CHECK: transformer_kernel.work "unpack_tokens 1" "tokens={} places={} width=1"
// CHECK: transformer_kernel.work "first_token 2" "sequences={} width=2"
// VALUES: {{\[\[\[}}8, 10],
// VALUES-NEXT: [1, 2]],
// VALUES-NEXT: {{\[\[}}0, 0],
// VALUES-NEXT: [0, 0]],
// VALUES-NEXT: {{\[\[}}0, 0],
// VALUES-NEXT: [4, 6]]]
// VALUES: {{\[\[}}10, 2],
// VALUES-NEXT: [0, 0],
// VALUES-NEXT: [0, 6]]
// VALUES: {{\[\[}}8, 10],
// VALUES-NEXT: [0, 0],
// VALUES-NEXT: [4, 6]]
func.func @main() {
  %mask = memref.get_global @mask : memref<3x2xi64>
  %ids = memref.get_global @ids : memref<3x2xi64>
  %table = memref.get_global @table : memref<3x2xf32>
  %n = transformer_kernel.count_tokens %mask : memref<3x2xi64>
  %cu = memref.alloc() : memref<4xindex>
  %rows = memref.alloc(%n) : memref<?xindex>
  %packed = memref.alloc(%n) : memref<?xi64>
  transformer_kernel.pack_tokens ins(%mask, %ids) outs(%cu, %rows, %packed)
    : (memref<3x2xi64>, memref<3x2xi64>, memref<4xindex>, memref<?xindex>, memref<?xi64>) -> ()
  %x = memref.alloc(%n) : memref<?x2xf32>
  transformer_kernel.embedding ids(%packed) tables(%table) outs(%x) {scales = array<f64: 2.0>}
    : (memref<?xi64>, memref<3x2xf32>, memref<?x2xf32>) -> ()
  %y = memref.alloc() : memref<3x2x2xf32>
  %column = memref.alloc() : memref<3x2xf32>
  %first = memref.alloc() : memref<3x2xf32>
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%y) : (memref<?x2xf32>, memref<?xindex>, memref<3x2x2xf32>) -> ()
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%column) {column = 1 : i64} : (memref<?x2xf32>, memref<?xindex>, memref<3x2xf32>) -> ()
  transformer_kernel.first_token ins(%x, %cu) outs(%first) : (memref<?x2xf32>, memref<4xindex>, memref<3x2xf32>) -> ()
  %yu = memref.cast %y : memref<3x2x2xf32> to memref<*xf32>
  %columnu = memref.cast %column : memref<3x2xf32> to memref<*xf32>
  %firstu = memref.cast %first : memref<3x2xf32> to memref<*xf32>
  call @printMemrefF32(%yu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%columnu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%firstu) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
