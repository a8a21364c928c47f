// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --canonicalize --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | FileCheck %s --implicit-check-not=transformer_kernel.pack
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES

// Ten outputs are a panel of eight and two columns of the next; five inputs are
// a square of four lanes and one column. An element is 10 n + k.
memref.global constant @out_in : memref<10x5xf32> = dense<[[0.0, 1.0, 2.0, 3.0, 4.0], [10.0, 11.0, 12.0, 13.0, 14.0], [20.0, 21.0, 22.0, 23.0, 24.0], [30.0, 31.0, 32.0, 33.0, 34.0], [40.0, 41.0, 42.0, 43.0, 44.0], [50.0, 51.0, 52.0, 53.0, 54.0], [60.0, 61.0, 62.0, 63.0, 64.0], [70.0, 71.0, 72.0, 73.0, 74.0], [80.0, 81.0, 82.0, 83.0, 84.0], [90.0, 91.0, 92.0, 93.0, 94.0]]>
memref.global constant @in_out : memref<5x10xf32> = dense<[[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0], [1.0, 11.0, 21.0, 31.0, 41.0, 51.0, 61.0, 71.0, 81.0, 91.0], [2.0, 12.0, 22.0, 32.0, 42.0, 52.0, 62.0, 72.0, 82.0, 92.0], [3.0, 13.0, 23.0, 33.0, 43.0, 53.0, 63.0, 73.0, 83.0, 93.0], [4.0, 14.0, 24.0, 34.0, 44.0, 54.0, 64.0, 74.0, 84.0, 94.0]]>

// CHECK: transformer_kernel.work "pack_weight 5x10" "K=5 N=10"() {bytes = array<i64>, fixed_bytes = 400 : i64, flops = array<i64>}
// CHECK: vector.shuffle
// CHECK: transformer_kernel.work "pack_weight 5x10"
// CHECK-NOT: vector.shuffle
// Two weights that follow each other.
// CHECK: transformer_kernel.work "pack_weight 5x8"
// CHECK: transformer_kernel.work "pack_weight 5x10"

// VALUES: {{\[\[\[}}0, 10, 20, 30, 40, 50, 60, 70]
// VALUES-NEXT: {{ *\[*}}1, 11, 21, 31, 41, 51, 61, 71]
// VALUES-NEXT: {{ *\[*}}2, 12, 22, 32, 42, 52, 62, 72]
// VALUES-NEXT: {{ *\[*}}3, 13, 23, 33, 43, 53, 63, 73]
// VALUES-NEXT: {{ *\[*}}4, 14, 24, 34, 44, 54, 64, 74]
// VALUES-NEXT: {{ *\[*}}80, 90, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}81, 91, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}82, 92, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}83, 93, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}84, 94, 0, 0, 0, 0, 0, 0]
// VALUES: {{\[\[\[}}0, 10, 20, 30, 40, 50, 60, 70]
// VALUES-NEXT: {{ *\[*}}1, 11, 21, 31, 41, 51, 61, 71]
// VALUES-NEXT: {{ *\[*}}2, 12, 22, 32, 42, 52, 62, 72]
// VALUES-NEXT: {{ *\[*}}3, 13, 23, 33, 43, 53, 63, 73]
// VALUES-NEXT: {{ *\[*}}4, 14, 24, 34, 44, 54, 64, 74]
// VALUES-NEXT: {{ *\[*}}80, 90, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}81, 91, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}82, 92, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}83, 93, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}84, 94, 0, 0, 0, 0, 0, 0]
// VALUES: {{\[\[\[}}0, 10, 20, 30, 40, 50, 60, 70]
// VALUES-NEXT: {{ *\[*}}1, 11, 21, 31, 41, 51, 61, 71]
// VALUES-NEXT: {{ *\[*}}2, 12, 22, 32, 42, 52, 62, 72]
// VALUES-NEXT: {{ *\[*}}3, 13, 23, 33, 43, 53, 63, 73]
// VALUES-NEXT: {{ *\[*}}4, 14, 24, 34, 44, 54, 64, 74]
// VALUES-NEXT: {{ *\[*}}0, 10, 20, 30, 40, 50, 60, 70]
// VALUES-NEXT: {{ *\[*}}1, 11, 21, 31, 41, 51, 61, 71]
// VALUES-NEXT: {{ *\[*}}2, 12, 22, 32, 42, 52, 62, 72]
// VALUES-NEXT: {{ *\[*}}3, 13, 23, 33, 43, 53, 63, 73]
// VALUES-NEXT: {{ *\[*}}4, 14, 24, 34, 44, 54, 64, 74]
// VALUES-NEXT: {{ *\[*}}80, 90, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}81, 91, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}82, 92, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}83, 93, 0, 0, 0, 0, 0, 0]
// VALUES-NEXT: {{ *\[*}}84, 94, 0, 0, 0, 0, 0, 0]
func.func @main() {
  %a = memref.get_global @out_in : memref<10x5xf32>
  %b = memref.get_global @in_out : memref<5x10xf32>
  %c = memref.subview %a[0, 0] [8, 5] [1, 1] : memref<10x5xf32> to memref<8x5xf32, strided<[5, 1]>>
  %x = memref.alloc() : memref<2x5x8xf32>
  %y = memref.alloc() : memref<2x5x8xf32>
  %z = memref.alloc() : memref<3x5x8xf32>
  transformer_cpu.pack_weight out_in ins(%a) outs(%x) : (memref<10x5xf32>, memref<2x5x8xf32>) -> ()
  transformer_cpu.pack_weight in_out ins(%b) outs(%y) : (memref<5x10xf32>, memref<2x5x8xf32>) -> ()
  transformer_cpu.pack_weight out_in ins(%c, %a) outs(%z) : (memref<8x5xf32, strided<[5, 1]>>, memref<10x5xf32>, memref<3x5x8xf32>) -> ()
  %xu = memref.cast %x : memref<2x5x8xf32> to memref<*xf32>
  %yu = memref.cast %y : memref<2x5x8xf32> to memref<*xf32>
  %zu = memref.cast %z : memref<3x5x8xf32> to memref<*xf32>
  call @printMemrefF32(%xu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%yu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%zu) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
