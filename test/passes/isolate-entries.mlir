// RUN: transformer-opt %s --transformer-isolate-entries --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func private @encode_0(%{{.*}}: tensor<?x8xf32>) -> tensor<?x8xf32> {
// CHECK: call @layer_forward_arena_bytes
// CHECK: func.func @encode(%{{.*}}: tensor<?x8xf32> {transformer.name = "x"}) -> (tensor<?x8xf32> {transformer.name = "y"}) attributes {transformer.entry}
func.func @encode(%x: tensor<?x8xf32> {transformer.name = "x"}) -> (tensor<?x8xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  %0 = call @forward.arena_bytes(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
// CHECK: func.func @forward(
func.func @forward(%x: tensor<?x8xf32> {transformer.name = "x"}) -> (tensor<?x8xf32> {transformer.name = "y"}) attributes {transformer.entry} {
  // CHECK: call @encode_0(
  %0 = call @encode(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: call @layer_tr_scope(
  %1 = call @tr_scope(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
// CHECK: func.func private @layer_forward_arena_bytes(
func.func private @forward.arena_bytes(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
// CHECK: func.func private @layer_tr_scope(
func.func @tr_scope(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}

// -----

// No entry point: left alone.

// CHECK-LABEL: func.func @a.b(
func.func @a.b(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}

// -----

// expected-error @below {{entry point @tr_step: names with a dot, "tr_" or "transformer" are the compiler's own}}
func.func @tr_step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {transformer.entry} {
  return %x : tensor<?x8xf32>
}
