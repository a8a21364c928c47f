// RUN: transformer-interpret %s | FileCheck %s

// 1 + 2^-8 and 1 + 3 2^-8 lie between two numbers: the even one.
// CHECK-LABEL: @bf16
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1 1.015625 -1.0078125 2.5{{$}}
func.func @bf16(%w: tensor<1x4xf32> {test.value = dense<[[1.00390625, 1.01171875, -1.005, 2.5]]> : tensor<1x4xf32>}) -> tensor<1x4xf32> {
  %q = transformer.quantize_weight bf16 %w out_in : tensor<1x4xf32>
  return %q : tensor<1x4xf32>
}

// The largest of an output becomes 127: scales 1 and 0.5. 2.5 is a tie, which goes to 2.
// CHECK-LABEL: @int8
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}127 2 -3{{$}}
// CHECK-NEXT: {{^}}-63.5 1 0.5{{$}}
func.func @int8(%w: tensor<2x3xf32> {test.value = dense<[[127.0, 2.5, -3.4], [-63.5, 1.1, 0.3]]> : tensor<2x3xf32>}) -> tensor<2x3xf32> {
  %q = transformer.quantize_weight int8 %w out_in : tensor<2x3xf32>
  return %q : tensor<2x3xf32>
}

// The same transposed.
// CHECK-LABEL: @int8_in_out
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}127 -63.5{{$}}
// CHECK-NEXT: {{^}}2 1{{$}}
// CHECK-NEXT: {{^}}-3 0.5{{$}}
func.func @int8_in_out(%w: tensor<3x2xf32> {test.value = dense<[[127.0, -63.5], [2.5, 1.1], [-3.4, 0.3]]> : tensor<3x2xf32>}) -> tensor<3x2xf32> {
  %q = transformer.quantize_weight int8 %w in_out : tensor<3x2xf32>
  return %q : tensor<3x2xf32>
}

// The largest becomes -8, so the other side ends at 7: scales 1 (of -8) and -1 (of 8).
// CHECK-LABEL: @int4
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}-8 7 2 -3{{$}}
// CHECK-NEXT: {{^}}8 -7 2 -3{{$}}
func.func @int4(%w: tensor<2x4xf32> {test.value = dense<[[-8.0, 7.9, 2.5, -3.4], [8.0, -7.9, 2.5, -3.4]]> : tensor<2x4xf32>}) -> tensor<2x4xf32> {
  %q = transformer.quantize_weight int4 %w out_in : tensor<2x4xf32>
  return %q : tensor<2x4xf32>
}

// Zeros stay zeros; what is no number takes all of its output along.
// CHECK-LABEL: @special
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}{{-?}}nan {{-?}}nan{{$}}
func.func @special(%w: tensor<2x2xf32> {test.value = dense<[[0.0, 0.0], [1.0, 0x7F800000]]> : tensor<2x2xf32>}) -> tensor<2x2xf32> {
  %q = transformer.quantize_weight int8 %w out_in : tensor<2x2xf32>
  return %q : tensor<2x2xf32>
}

// A scale of 1 for the group of 32 and one of 0.5 for the feature behind it; 2.5 and -3.5 are ties.
// CHECK-LABEL: @rows
// CHECK-NEXT: [2, 33]
// CHECK-NEXT: {{^}}127 2 -4 1{{( 0)*}} 63.5{{$}}
// CHECK-NEXT: {{^}}0{{( 0)*}} {{-?}}nan{{$}}
func.func @rows(%x: tensor<2x4xf32> {test.value = dense<[[127.0, 2.5, -3.5, 1.4], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf32>},
                %rest: tensor<2x28xf32> {test.value = dense<0.0> : tensor<2x28xf32>},
                %last: tensor<2x1xf32> {test.value = dense<[[63.5], [0x7F800000]]> : tensor<2x1xf32>}) -> tensor<2x33xf32> {
  %all = tensor.concat dim(1) %x, %rest, %last : (tensor<2x4xf32>, tensor<2x28xf32>, tensor<2x1xf32>) -> tensor<2x33xf32>
  %q = transformer.quantize_rows int8 %all : tensor<2x33xf32>
  return %q : tensor<2x33xf32>
}

// The nearest bfloat16, ties to even; each number by itself.
// CHECK-LABEL: @bf16_rows
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1 1.015625 -1.0078125 {{-?}}nan{{$}}
func.func @bf16_rows(%x: tensor<1x4xf32> {test.value = dense<[[1.00390625, 1.01171875, -1.005, 0x7FC00000]]> : tensor<1x4xf32>}) -> tensor<1x4xf32> {
  %q = transformer.quantize_rows bf16 %x : tensor<1x4xf32>
  return %q : tensor<1x4xf32>
}

// The nearest float16, ties to even: below 2^-14 multiples of 2^-24, from 65520 on infinite.
// CHECK-LABEL: @f16_rows
// CHECK-NEXT: [1, 6]
// CHECK-NEXT: {{^}}1 1.00195312 5.96046448e-08 65504 inf {{-?}}nan{{$}}
func.func @f16_rows(%x: tensor<1x6xf32> {test.value = dense<[[1.00048828125, 1.00146484375, 5.0e-8, 65519.0, 65520.0, 0x7FC00000]]> : tensor<1x6xf32>}) -> tensor<1x6xf32> {
  %q = transformer.quantize_rows f16 %x : tensor<1x6xf32>
  return %q : tensor<1x6xf32>
}

// Eleven digits, ties away from zero, of any float32's size.
// CHECK-LABEL: @tf32_rows
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1.00097656 -1.00097656 1 1.00025555e+30{{$}}
func.func @tf32_rows(%x: tensor<1x4xf32> {test.value = dense<[[1.00048828125, -1.00048828125, 1.0004, 1.0e30]]> : tensor<1x4xf32>}) -> tensor<1x4xf32> {
  %q = transformer.quantize_rows tf32 %x : tensor<1x4xf32>
  return %q : tensor<1x4xf32>
}
