// DEFINE: %{emit} = transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v2 --transformer-cpu-emit-nests | sed "s/attributes {transformer.target = .*} {/{/"
// DEFINE: %{lower} = transformer-opt --scf-forall-to-for --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts
// DEFINE: %{run} = mlir-runner -O2 -e main -entry-point-result=void --shared-libs=%mlir_include/../lib/libmlir_runner_utils.so,%mlir_include/../lib/libmlir_c_runner_utils.so
// RUN: %{emit} | FileCheck %s
// RUN: %{emit} | %{lower} | %{run} | FileCheck %s --check-prefix=VALUES

// CHECK-LABEL: func.func @all
// CHECK-NOT: math.{{exp|tanh|erf}}
// CHECK: vector.fma
func.func @all(%x: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %0 = math.exp %x : vector<4xf32>
  %1 = math.exp2 %x : vector<4xf32>
  %2 = math.tanh %x : vector<4xf32>
  %3 = math.erf %x : vector<4xf32>
  return %0, %1, %2, %3 : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
}
// math.fma would be a call to fmaf on this target.
// CHECK-LABEL: func.func @scalar
// CHECK: llvm.intr.fmuladd
// CHECK-NOT: math.
// CHECK: return
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
// A double is none of ours.
// CHECK-LABEL: func.func @double
// CHECK: math.exp
func.func @double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// VALUES: ( 2.71828, 1, 0.135335, inf )
// VALUES: ( 2, 1, 0.25, inf )
// VALUES: ( 0.761594, 0, -0.964028, 1 )
// VALUES: ( 0.842701, 0, -0.995322, 1 )
func.func @main() {
  %x = arith.constant dense<[1.0, 0.0, -2.0, 200.0]> : vector<4xf32>
  %0:4 = call @all(%x) : (vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
  vector.print %0#0 : vector<4xf32>
  vector.print %0#1 : vector<4xf32>
  vector.print %0#2 : vector<4xf32>
  vector.print %0#3 : vector<4xf32>
  return
}
