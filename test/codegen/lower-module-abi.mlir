// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-lower-module-abi | FileCheck %s --implicit-check-not=transformer.parameter --implicit-check-not=transformer.prepared
// RUN: transformer-opt %s --transformer-cpu-set-target=arch=x86-64-v3 --transformer-lower-module-abi | sed 's/\\22/"/g' | FileCheck %s --check-prefix=JSON

// The layers' parameters stand together; what the entry itself reads follows.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[SLOTS:[^:]*]]: !llvm.ptr, %{{[^:]*}}: memref<?x?xi64>,
// CHECK: %[[B1:.*]] = llvm.getelementptr %[[SLOTS]][4]
// CHECK: llvm.load %[[B1]]
// CHECK: %[[LAYER0:.*]] = llvm.getelementptr %[[SLOTS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: call @layer(%[[LAYER0]], %{{.*}}, %{{.*}}) {transformer.scope = "layer.0"}
// CHECK: %[[LAYER1:.*]] = llvm.getelementptr %[[SLOTS]][2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: call @layer(%[[LAYER1]], %{{.*}}, %{{.*}}) {transformer.scope = "layer.1"}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[SLOTS:[^:]*]]: !llvm.ptr, %{{[^:]*}}: memref<?x4xf32>, %{{[^:]*}}: memref<?xi8>) attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: %[[W:.*]] = llvm.getelementptr %[[SLOTS]][0]
// CHECK: llvm.load %[[W]]
// CHECK: %[[B:.*]] = llvm.getelementptr %[[SLOTS]][1]
// CHECK: llvm.load %[[B]]

// CHECK-LABEL: llvm.func internal @transformer.forward(
// CHECK-SAME: %[[SLOTS:.*]]: !llvm.ptr, %[[IO:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
// CHECK: llvm.getelementptr %[[IO]][0]
// CHECK: llvm.getelementptr %[[IO]][1]
// CHECK: llvm.getelementptr %[[IO]][2]
// CHECK: call @forward(%[[SLOTS]],
// CHECK-LABEL: llvm.func internal @transformer.forward.arena_bytes(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i64
// CHECK: call @forward.arena_bytes(

// A prepare function's sources are its slots.
// CHECK-LABEL: llvm.func internal @transformer.prepare(
// CHECK-SAME: %[[SOURCES:.*]]: !llvm.ptr, %[[IO:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: llvm.getelementptr %[[SOURCES]][0]
// CHECK: llvm.getelementptr %[[IO]][0]
// CHECK: call @prepare(

// CHECK-LABEL: llvm.mlir.global internal constant @transformer.functions() {{.*}} : !llvm.array<2 x struct<(ptr, ptr)>>
// CHECK: llvm.mlir.addressof @transformer.forward :
// CHECK: llvm.mlir.addressof @transformer.forward.arena_bytes :
// CHECK: llvm.mlir.addressof @transformer.prepare :
// CHECK: llvm.mlir.addressof @transformer.prepare.arena_bytes :

// "TRMR", version 4; the sizes of the description and of the tokenizer behind it, the hash of both.
// CHECK-LABEL: llvm.mlir.global external constant @transformer_module() {{.*}} : !llvm.struct<(i32, i32, ptr, i64, i64, i64, ptr, i64)>
// CHECK: llvm.mlir.constant(1380799060 : i32)
// CHECK: llvm.mlir.constant(5 : i32)
// CHECK: llvm.mlir.addressof @transformer.description
// CHECK: llvm.mlir.constant({{[0-9]+}} : i64)
// CHECK: llvm.mlir.constant(7 : i64)
// CHECK: llvm.mlir.constant({{-?[0-9]+}} : i64)
// CHECK: llvm.mlir.addressof @transformer.functions
// CHECK: llvm.mlir.constant(2 : i64)

// JSON: @transformer.description("{"entries":[{"flops":{"attention":[],"per_token_of":{"attention_mask":64}},"function":0,
// JSON-SAME: {"dtype":"i64","max_length":16,"name":"input_ids","range":[0,30],"shape":["batch","sequence"]}
// JSON-SAME: {"default":{"input":"input_ids","kind":"not_equal","value":1},"dtype":"i64","name":"attention_mask","shape":["batch","sequence"]}
// JSON-SAME: "name":"forward","outputs":[{"dtype":"f32","name":"pooled","shape":["batch",4]}]
// JSON-SAME: "mode":"inference","model_type":"toy"
// JSON-SAME: "parameters":[{"aliases":["model.w0"],"dtype":"f32","init":{"kind":"normal","value":0.02},"name":"w0","shape":[4]},{"dtype":"f32","name":"b0","shape":[4]}
// JSON-SAME: "prepare_code":"{{[0-9a-f]+}}","prepared":[{"dtype":"f32","function":1,"name":"w1.prepared","shape":[4],"sources":[2]}]
// JSON-SAME: "slots":[{"index":0,"kind":"parameter"},{"index":1,"kind":"parameter"},{"index":0,"kind":"prepared"},{"index":3,"kind":"parameter"},{"index":3,"kind":"parameter"}]
// JSON-SAME: "target":{"arch":"x86-64-v3","cpu":"x86-64-v3","features":[{{.*}}"fma"{{.*}}"avx2"{{.*}}]}
// The tokenizer follows the JSON.
// JSON-SAME: }{words}")

module attributes {transformer.model_type = "toy", transformer.tokenizer = "{words}"} {
transformer.parameter @w0 : tensor<4xf32> init(#transformer.init<normal, 0.02 : f64>) aliases ["model.w0"]
transformer.parameter @b0 : tensor<4xf32>
transformer.parameter @w1 : tensor<4xf32>
transformer.parameter @b1 : tensor<4xf32>
transformer.prepared @w1.prepared = @prepare(@w1) : tensor<4xf32>
func.func @forward(%ids: memref<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 30>, transformer.max_length = 16 : i64},
                   %mask: memref<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<not_equal, "input_ids", 1>},
                   %y: memref<?x4xf32> {transformer.name = "pooled", transformer.output, transformer.dims = ["batch"]}, %arena: memref<?xi8>) attributes {transformer.entry, transformer.flops = {attention = [], per_token_of = {attention_mask = 64 : i64}}} {
  %c0 = arith.constant 0 : index
  %w0 = transformer_kernel.get_parameter @w0 : memref<4xf32>
  %b0 = transformer_kernel.get_parameter @b0 : memref<4xf32>
  %w1 = transformer_kernel.get_parameter @w1.prepared : memref<4xf32>
  %b1 = transformer_kernel.get_parameter @b1 : memref<4xf32>
  func.call @layer(%w0, %y, %b0, %arena) {transformer.scope = "layer.0"} : (memref<4xf32>, memref<?x4xf32>, memref<4xf32>, memref<?xi8>) -> ()
  func.call @layer(%w1, %y, %b1, %arena) {transformer.scope = "layer.1"} : (memref<4xf32>, memref<?x4xf32>, memref<4xf32>, memref<?xi8>) -> ()
  %v = memref.load %b1[%c0] : memref<4xf32>
  memref.store %v, %y[%c0, %c0] : memref<?x4xf32>
  return
}
func.func private @forward.arena_bytes(%ids: memref<?x?xi64>, %mask: memref<?x?xi64>, %y: memref<?x4xf32>) -> index {
  %c64 = arith.constant 64 : index
  return %c64 : index
}
func.func private @layer(%w: memref<4xf32>, %y: memref<?x4xf32>, %b: memref<4xf32>, %arena: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %w[%c0] : memref<4xf32>
  %u = memref.load %b[%c1] : memref<4xf32>
  memref.store %v, %y[%c0, %c0] : memref<?x4xf32>
  memref.store %u, %y[%c0, %c1] : memref<?x4xf32>
  return
}
func.func private @layer.arena_bytes(%w: memref<4xf32>, %y: memref<?x4xf32>, %b: memref<4xf32>) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}
func.func private @prepare(%w: memref<4xf32>, %y: memref<4xf32>, %arena: memref<?xi8>) {
  memref.copy %w, %y : memref<4xf32> to memref<4xf32>
  return
}
func.func private @prepare.arena_bytes(%w: memref<4xf32>, %y: memref<4xf32>) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}
}
