// Rows written to caches of any capacity, at a position that is an input; by a function, for two of them.
// RUN: transformer-compile %s -o %t.program --verify-each
// RUN: python3 %S/Inputs/steps.py %t.program %t \
// RUN:   '{"row": ["F32", [1, 2], [1, 2]], "position": ["I64", [], [0]]}' \
// RUN:   '{"row": ["F32", [1, 2], [10, 20]], "position": ["I64", [], [2]]}' \
// RUN:   '{"row": ["F32", [1, 2], [5, 6]], "position": ["I32", [], [0]]}' -- --size capacity=3 | FileCheck %s
// RUN: transformer-compile %s -o - --emit buffers | FileCheck %s --check-prefix=BUFFERS

// CHECK: call 0 keys: F32 [3, 2] = 1 2 0 0 0 0
// CHECK: call 0 sum: F32 [2] = 2 4
// CHECK: call 1 keys: F32 [3, 2] = 1 2 0 0 10 20
// CHECK: call 1 sum: F32 [2] = 22 44
// CHECK: call 2 keys: F32 [3, 2] = 5 6 0 0 10 20
// CHECK: call 2 sum: F32 [2] = 30 52
// CHECK: state k: F32 [3, 2] = 5 6 0 0 10 20
// CHECK: state v: F32 [3, 2] = 10 12 0 0 20 40

// Memory for one row, no cache.
// BUFFERS: func.func @forward(
// BUFFERS-NOT: memref<?xi8> to memref<?x2xf32>

// Another position, another size, no size at all.
// RUN: not python3 %S/Inputs/steps.py true %t.bad '{"row": ["F32", [1, 2], [1, 2]], "position": ["I64", [], [3]]}'
// RUN: not %t.program run -i %t.bad/in.safetensors -o %t.bad/out.safetensors --size capacity=3 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not %t.program run -i %t.bad/in.safetensors -o %t.bad/out.safetensors 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not %t.program run -i %t.bad/in.safetensors -o %t.bad/out.safetensors --size capacity=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %t.program run -i %t.bad/in.safetensors -o %t.bad/out.safetensors --size rows=4 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not %t.program run -i %t.bad/in.safetensors -o %t.bad/out.safetensors --size capacity=4 --state-in %t/state.safetensors 2>&1 | FileCheck %s --check-prefix=OTHER
// RANGE: error: position: value 3 at {{.*}} is out of range [0, 3)
// SIZE: error: state "k": nobody says how large "capacity" is
// ZERO: error: --size capacity=0: expected NAME=N
// NAME: error: --size rows=4: no state has a size of that name
// OTHER: error: --size capacity=4: {{.*}}state.safetensors has 3

// Random positions stay inside; the weights are none.
// RUN: %t.program bench --size capacity=3 --repeat 2

func.func private @write(%row: tensor<1x2xf32>, %at: tensor<i64>, %cache: tensor<?x2xf32> {transformer.state = "cache"})
    -> (tensor<?x2xf32> {transformer.state = "cache"}) {
  %position = tensor.extract %at[] : tensor<i64>
  %index = arith.index_cast %position : i64 to index
  %new = tensor.insert_slice %row into %cache[%index, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<?x2xf32>
  return %new : tensor<?x2xf32>
}
func.func @forward(%row: tensor<1x2xf32> {transformer.name = "row"},
                   %at: tensor<i64> {transformer.name = "position", transformer.below = "capacity"},
                   %k: tensor<?x2xf32> {transformer.state = "k"}, %v: tensor<?x2xf32> {transformer.state = "v"})
    -> (tensor<?x2xf32> {transformer.state = "v"}, tensor<?x2xf32> {transformer.state = "k"},
        tensor<2xf32> {transformer.name = "sum"}, tensor<?x2xf32> {transformer.name = "keys", transformer.dims = ["capacity"]})
    attributes {transformer.entry} {
  %zero = arith.constant 0.0 : f32
  %twice = arith.addf %row, %row : tensor<1x2xf32>
  %keys = call @write(%row, %at, %k) : (tensor<1x2xf32>, tensor<i64>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %values = call @write(%twice, %at, %v) : (tensor<1x2xf32>, tensor<i64>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %empty = tensor.empty() : tensor<2xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.reduce ins(%values : tensor<?x2xf32>) outs(%start : tensor<2xf32>) dimensions = [0]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  return %values, %keys, %sum, %keys : tensor<?x2xf32>, tensor<?x2xf32>, tensor<2xf32>, tensor<?x2xf32>
}
