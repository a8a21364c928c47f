// RUN: transformer-opt %s --allow-unregistered-dialect --transformer-cpu-sum-in-blocks=steps=8 | FileCheck %s
// RUN: transformer-opt %s --allow-unregistered-dialect --transformer-cpu-sum-in-blocks | FileCheck %s --check-prefix=FORMAT

// 24 k in three blocks of eight, each summed from zero and added to the total.
// CHECK-LABEL: @equal(
// CHECK-SAME: %[[INIT:[^ ]*]]: vector<2x4xf32>
// CHECK: %[[END:.*]] = arith.addi %c0, %c24
// CHECK: %[[R:.*]] = scf.for %[[B:[^ ]*]] = %c0 to %[[END]] step %c8 iter_args(%[[TOTAL:[^ ]*]] = %[[INIT]])
// CHECK: %[[BE:.*]] = arith.addi %[[B]], %c8
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0{{.*}}> : vector<2x4xf32>
// CHECK: %[[S:.*]] = scf.for %[[K:[^ ]*]] = %[[B]] to %[[BE]] step %c1 iter_args(%[[A:[^ ]*]] = %[[ZERO]])
// CHECK: "test.use"(%[[K]], %[[A]])
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 24>}
// CHECK: %[[T:.*]] = arith.addf %[[TOTAL]], %[[S]]
// CHECK: scf.yield %[[T]]
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<blocks>}
// CHECK: return %[[R]]
func.func @equal(%init: vector<2x4xf32>) -> vector<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %r = scf.for %k = %c0 to %c24 step %c1 iter_args(%a = %init) -> (vector<2x4xf32>) {
    %s = "test.use"(%k, %a) : (index, vector<2x4xf32>) -> vector<2x4xf32>
    scf.yield %s : vector<2x4xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 24>}
  return %r : vector<2x4xf32>
}

// 29 k do not divide: a loop over three blocks of eight, and five.
// CHECK-LABEL: @rest(
// CHECK: %[[END:.*]] = arith.addi %c0, %c24
// CHECK: %[[R:.*]] = scf.for %[[B:[^ ]*]] = %c0 to %[[END]] step %c8
// CHECK: scf.for {{.*}} = %[[B]] to %{{.*}} step %c1
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 29>}
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<blocks>}
// CHECK: %[[S:.*]] = scf.for
// CHECK: {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 29, before = 24>}
// CHECK: %[[T:.*]] = arith.addf %[[R]], %[[S]]
// CHECK: return %[[T]]
func.func @rest() -> vector<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c29 = arith.constant 29 : index
  %zero = arith.constant dense<0.0> : vector<2x4xf32>
  %r = scf.for %k = %c0 to %c29 step %c1 iter_args(%a = %zero) -> (vector<2x4xf32>) {
    %s = "test.use"(%k, %a) : (index, vector<2x4xf32>) -> vector<2x4xf32>
    scf.yield %s : vector<2x4xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 29>}
  return %r : vector<2x4xf32>
}

// CHECK-LABEL: @short(
// CHECK-NOT: transformer.k_b
// CHECK: return
func.func @short(%init: vector<2x4xf32>) -> vector<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %init) -> (vector<2x4xf32>) {
    %s = "test.use"(%k, %a) : (index, vector<2x4xf32>) -> vector<2x4xf32>
    scf.yield %s : vector<2x4xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "f32", steps = 8>}
  return %r : vector<2x4xf32>
}

// 40 steps of six products: three blocks of 14 in one loop, the last of which ends with the steps.
// FORMAT-LABEL: @steps(
// FORMAT-SAME: %[[INIT:[^ ]*]]: vector<2x4xf32>
// FORMAT: %[[R:.*]] = scf.for %[[B:[^ ]*]] = %c0 to %c40 step %c14 iter_args(%[[TOTAL:[^ ]*]] = %[[INIT]])
// FORMAT: %[[NEXT:.*]] = arith.addi %[[B]], %c14
// FORMAT: %[[END:.*]] = arith.minui %[[NEXT]], %c40
// FORMAT: %[[S:.*]] = scf.for %{{.*}} = %[[B]] to %[[END]] step %c1
// FORMAT: {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 40>}
// FORMAT: %[[T:.*]] = arith.addf %[[TOTAL]], %[[S]]
// FORMAT: scf.yield %[[T]]
// FORMAT: {transformer_cpu.linear = #transformer_cpu.linear<blocks>}
// FORMAT: return %[[R]]
func.func @steps(%init: vector<2x4xf32>) -> vector<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %r = scf.for %k = %c0 to %c40 step %c1 iter_args(%a = %init) -> (vector<2x4xf32>) {
    %s = "test.use"(%k, %a) : (index, vector<2x4xf32>) -> vector<2x4xf32>
    scf.yield %s : vector<2x4xf32>
  } {transformer_cpu.linear = #transformer_cpu.linear<loop, "winograd", steps = 40>}
  return %r : vector<2x4xf32>
}
