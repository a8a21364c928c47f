// RUN: transformer-interpret %s | FileCheck %s

// Rows of a tensor in the other order, by pairs; the last is alone.
// CHECK-LABEL: @turned
// CHECK-NEXT: [5, 1]
// CHECK-NEXT: {{^}}5{{$}}
// CHECK-NEXT: {{^}}3{{$}}
// CHECK-NEXT: {{^}}4{{$}}
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}2{{$}}
func.func @turned(%x: tensor<?x1xf32> {test.value = dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>}) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %rows = tensor.dim %x, %c0 : tensor<?x1xf32>
  %empty = tensor.empty(%rows) : tensor<?x1xf32>
  %y = scf.for %i = %c0 to %rows step %c2 iter_args(%before = %empty) -> (tensor<?x1xf32>) {
    %left = arith.subi %rows, %i : index
    %n = arith.minui %left, %c2 : index
    %part = tensor.extract_slice %x[%i, 0] [%n, 1] [1, 1] : tensor<?x1xf32> to tensor<?x1xf32>
    %to = arith.subi %left, %n : index
    %own = tensor.empty(%n) : tensor<?x1xf32>
    %copy = linalg.copy ins(%part : tensor<?x1xf32>) outs(%own : tensor<?x1xf32>) -> tensor<?x1xf32>
    %after = tensor.insert_slice %copy into %before[%to, 0] [%n, 1] [1, 1] : tensor<?x1xf32> into tensor<?x1xf32>
    scf.yield %after : tensor<?x1xf32>
  }
  return %y : tensor<?x1xf32>
}

// No turn at all; the larger of two; an integer's slice.
// CHECK-LABEL: @none
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}3 7{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}8 9{{$}}
func.func @none(%a: tensor<2xf32> {test.value = dense<[3.0, -1.0]> : tensor<2xf32>}, %b: tensor<2xf32> {test.value = dense<[-2.0, 7.0]> : tensor<2xf32>},
                %ids: tensor<?xi64> {test.value = dense<[7, 8, 9]> : tensor<3xi64>}) -> (tensor<2xf32>, tensor<2xi64>) {
  %c1 = arith.constant 1 : index
  %m = arith.maximumf %a, %b : tensor<2xf32>
  %y = scf.for %i = %c1 to %c1 step %c1 iter_args(%sum = %m) -> (tensor<2xf32>) {
    %next = arith.addf %sum, %sum : tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  %part = tensor.extract_slice %ids[%c1] [2] [1] : tensor<?xi64> to tensor<2xi64>
  return %y, %part : tensor<2xf32>, tensor<2xi64>
}
