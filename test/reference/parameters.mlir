// RUN: transformer-interpret %s | FileCheck %s
// RUN: transformer-interpret %s --entry=calls --observe | FileCheck %s --check-prefix=OBSERVE

transformer.parameter @q : tensor<2x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}
transformer.parameter @k : tensor<1x2xf32> {test.value = dense<[[5.0, 6.0]]> : tensor<1x2xf32>}
transformer.prepared @rows = @merge(@q, @k) : tensor<3x2xf32>
transformer.prepared @table = @sinusoids() : tensor<2x2xf32>
transformer.prepared @destination = @merge_into(@q) : tensor<1x4xf32>
transformer.prepared @back = @round_trip(@q) : tensor<2x1xf32>

func.func private @merge(%q: tensor<2x2xf32>, %k: tensor<1x2xf32>) -> tensor<3x2xf32> {
  %rows = tensor.concat dim(0) %q, %k : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  return %rows : tensor<3x2xf32>
}

// With a destination, as code generation gives it one.
func.func private @merge_into(%q: tensor<2x2xf32>, %into: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %flat = tensor.collapse_shape %q [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %row = tensor.expand_shape %flat [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  return %row : tensor<1x4xf32>
}

func.func private @sinusoids() -> tensor<2x2xf32> {
  %p = transformer.sinusoidal_table interleaved : tensor<2x2xf32>
  return %p : tensor<2x2xf32>
}

// The second column, through another shape.
func.func private @round_trip(%q: tensor<2x2xf32>) -> tensor<2x1xf32> {
  %deep = tensor.expand_shape %q [[0], [1, 2]] output_shape [2, 2, 1] : tensor<2x2xf32> into tensor<2x2x1xf32>
  %column = tensor.extract_slice %deep[0, 1, 0] [2, 1, 1] [1, 1, 1] : tensor<2x2x1xf32> to tensor<2x1xf32>
  return %column : tensor<2x1xf32>
}

// CHECK-LABEL: @prepared
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}1 2{{$}}
// CHECK-NEXT: {{^}}3 4{{$}}
// CHECK-NEXT: {{^}}5 6{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1 2 3 4{{$}}
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}0 1{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.540302306{{$}}
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: {{^}}4{{$}}
func.func @prepared() -> (tensor<3x2xf32>, tensor<1x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>) {
  %rows = transformer.get_parameter @rows : tensor<3x2xf32>
  %destination = transformer.get_parameter @destination : tensor<1x4xf32>
  %table = transformer.get_parameter @table : tensor<2x2xf32>
  %back = transformer.get_parameter @back : tensor<2x1xf32>
  return %rows, %destination, %table, %back : tensor<3x2xf32>, tensor<1x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>
}

func.func private @layer(%x: tensor<?x2xf32>, %w: tensor<2x2xf32>, %factor: f32) -> (tensor<?x2xf32>, f32) {
  %y = transformer.linear %x, %w out_in : tensor<?x2xf32>, tensor<2x2xf32> -> tensor<?x2xf32>
  %twice = arith.addf %factor, %factor : f32
  return %y, %twice : tensor<?x2xf32>, f32
}

// One function, two layers: x q^T twice is (1, 0) -> (1, 3) -> (7, 15); factor 1 -> 2 -> 4.
// CHECK-LABEL: @calls
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}7 15{{$}}
// CHECK-NEXT: []
// CHECK-NEXT: {{^}}4{{$}}

// OBSERVE-LABEL: @calls
// OBSERVE-NEXT: op transformer.get_parameter
// OBSERVE-NEXT: op arith.constant
// OBSERVE-NEXT: op layer.0: transformer.linear
// OBSERVE-NEXT: op layer.0: arith.addf
// OBSERVE-NEXT: op func.call
// OBSERVE-NEXT: op layer: transformer.linear
// OBSERVE-NEXT: op layer: arith.addf
// OBSERVE-NEXT: op func.call
func.func @calls(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 0.0]]> : tensor<1x2xf32>}) -> (tensor<?x2xf32>, f32) {
  %q = transformer.get_parameter @q : tensor<2x2xf32>
  %one = arith.constant 1.0 : f32
  %0:2 = call @layer(%x, %q, %one) {transformer.scope = "layer.0"} : (tensor<?x2xf32>, tensor<2x2xf32>, f32) -> (tensor<?x2xf32>, f32)
  %1:2 = call @layer(%0#0, %q, %0#1) : (tensor<?x2xf32>, tensor<2x2xf32>, f32) -> (tensor<?x2xf32>, f32)
  return %1#0, %1#1 : tensor<?x2xf32>, f32
}

// (6 - 2) * 3 / 4 = 3, sizes of dynamic dimensions, a strided slice.
// CHECK-LABEL: @upstream
// CHECK-NEXT: [1]
// CHECK-NEXT: {{^}}3{{$}}
// CHECK-NEXT: []
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}1 3{{$}}
func.func @upstream(%x: tensor<?x2xf32> {test.value = dense<0.0> : tensor<2x2xf32>},
                    %v: tensor<4xf32> {test.value = dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>}) -> (tensor<1xf32>, index, tensor<2xf32>) {
  %6 = arith.constant dense<6.0> : tensor<1xf32>
  %2 = arith.constant dense<2.0> : tensor<1xf32>
  %3 = arith.constant dense<3.0> : tensor<1xf32>
  %4 = arith.constant dense<4.0> : tensor<1xf32>
  %c0 = arith.constant 0 : index
  %a = arith.subf %6, %2 : tensor<1xf32>
  %b = arith.mulf %a, %3 : tensor<1xf32>
  %c = arith.divf %b, %4 : tensor<1xf32>
  %d = tensor.dim %x, %c0 : tensor<?x2xf32>
  %s = tensor.extract_slice %v[1] [2] [2] : tensor<4xf32> to tensor<2xf32>
  return %c, %d, %s : tensor<1xf32>, index, tensor<2xf32>
}
