// A sum that grows from call to call: of floats, and of their number as an integer of no dimension.
// RUN: transformer-compile %s -o %t.program --verify-each
// RUN: python3 %S/Inputs/steps.py %t.program %t \
// RUN:   '{"x": ["F32", [2, 4], [1, 2, 3, 4, 10, 20, 30, 40]]}' '{"x": ["F32", [1, 4], [100, 0, 0, 0.5]]}' \
// RUN:   '{"x": ["F32", [3, 4], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]}' | FileCheck %s
// RUN: transformer-compile %s -o - --emit buffers | FileCheck %s --check-prefix=BUFFERS '--implicit-check-not=to memref<4xf32>'
// RUN: %t.program info | FileCheck %s --check-prefix=INFO
// RUN: not transformer-verify %s --weights %t/state.safetensors --inputs %t/in.safetensors 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: not %t.program run -i %t/in.safetensors -o %t/out.safetensors --state-in %t/in.safetensors 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: call 0 count: I64 [1] = 2
// CHECK: call 0 total: F32 [4] = 11 22 33 44
// CHECK: call 1 count: I64 [1] = 3
// CHECK: call 1 total: F32 [4] = 111 22 33 44.5
// CHECK: call 2 count: I64 [1] = 6
// CHECK: call 2 total: F32 [4] = 114 25 36 47.5
// CHECK: state calls: I32 [1] = 3
// CHECK: state count: I64 [] = 6
// CHECK: state sum: F32 [4] = 114 25 36 47.5

// No memory for sums beside the state and the output.
// BUFFERS: func.func @forward(

// INFO: state      sum: f32 [4]
// INFO: state      count: i64 []
// INFO: in   x: f32 [rows, 4]
// INFO: keeps sum
// INFO: out  count: i64 [1]

// VERIFY: error: entry 'forward' keeps state "sum"
// OTHER: error: {{.*}}in.safetensors: missing state "sum"

func.func @forward(%sum: tensor<4xf32> {transformer.state = "sum"}, %count: tensor<i64> {transformer.state = "count"},
                   %x: tensor<?x4xf32> {transformer.name = "x", transformer.dims = ["rows"]},
                   %calls: tensor<1xi32> {transformer.state = "calls"})
    -> (tensor<4xf32> {transformer.name = "total"}, tensor<4xf32> {transformer.state = "sum"},
        tensor<i64> {transformer.state = "count"}, tensor<1xi64> {transformer.name = "count"},
        tensor<1xi32> {transformer.state = "calls"})
    attributes {transformer.entry} {
  %c0 = arith.constant 0 : index
  %new = linalg.reduce ins(%x : tensor<?x4xf32>) outs(%sum : tensor<4xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %n = arith.index_cast %rows : index to i64
  %before = tensor.extract %count[] : tensor<i64>
  %after = arith.addi %before, %n : i64
  %counted = tensor.insert %after into %count[] : tensor<i64>
  %shown = tensor.from_elements %after : tensor<1xi64>
  %one = arith.constant dense<1> : tensor<1xi32>
  %called = arith.addi %one, %calls : tensor<1xi32>
  return %new, %new, %counted, %shown, %called : tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<1xi64>, tensor<1xi32>
}
