// RUN: transformer-interpret %s | FileCheck %s

// x = (1, 2), weight rows (1, 10), (100, 1000), (0, 1): W x = (21, 2100, 2), bias (1, 2, 3).
// CHECK-LABEL: @linear_out_in
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}22 2102 5{{$}}
func.func @linear_out_in(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>},
                         %w: tensor<3x2xf32> {test.value = dense<[[1.0, 10.0], [100.0, 1000.0], [0.0, 1.0]]> : tensor<3x2xf32>},
                         %b: tensor<3xf32> {test.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}) -> tensor<?x3xf32> {
  %y = transformer.linear %x, %w bias(%b : tensor<3xf32>) out_in : tensor<?x2xf32>, tensor<3x2xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// The same weight transposed, no bias.
// CHECK-LABEL: @linear_in_out
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}21 2100 2{{$}}
func.func @linear_in_out(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>},
                         %w: tensor<2x3xf32> {test.value = dense<[[1.0, 100.0, 0.0], [10.0, 1000.0, 1.0]]> : tensor<2x3xf32>}) -> tensor<?x3xf32> {
  %y = transformer.linear %x, %w in_out : tensor<?x2xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// CHECK-LABEL: @split
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}4{{$}}
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}2 3{{$}}
// CHECK-NEXT: {{^}}5 6{{$}}
func.func @split(%x: tensor<?x3xf32> {test.value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>}) -> (tensor<?x1xf32>, tensor<?x2xf32>) {
  %a, %b = transformer.split %x : tensor<?x3xf32> -> tensor<?x1xf32>, tensor<?x2xf32>
  return %a, %b : tensor<?x1xf32>, tensor<?x2xf32>
}

// Row (0, 0, 6, 6): mean 3, sum of squares 36.
// biased:               sqrt(36/4 + 7) = 4,        (x - 3) / 4 = -+0.75
// unbiased:             sqrt(36/3 + 4) = 4,        (x - 3) / 4 = -+0.75
// eps outside:          sqrt(36/4) + 3 = 6,        (x - 3) / 6 = -+0.5
// unbiased and outside: sqrt(36/3) + 1 = 4.46410162, 3 / 4.46410162 = 0.672027713
// gamma (1, 1, 1, 2), beta (0, 0, 0, 1): the last column is 2 y + 1.
// CHECK-LABEL: @layer_norm
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}-0.75 -0.75 0.75 2.5{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}-0.75 -0.75 0.75 2.5{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}-0.5 -0.5 0.5 2{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}-0.672027713 -0.672027713 0.672027713 2.34405543{{$}}
func.func @layer_norm(%x: tensor<?x4xf32> {test.value = dense<[[0.0, 0.0, 6.0, 6.0]]> : tensor<1x4xf32>},
                      %g: tensor<4xf32> {test.value = dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>},
                      %b: tensor<4xf32> {test.value = dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>})
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %biased = transformer.layer_norm %x, %g, %b norm<eps = 7.0> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %unbiased = transformer.layer_norm %x, %g, %b norm<eps = 4.0, unbiased> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %outside = transformer.layer_norm %x, %g, %b norm<eps = 3.0, eps_outside> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %both = transformer.layer_norm %x, %g, %b norm<eps = 1.0, unbiased, eps_outside> : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return %biased, %unbiased, %outside, %both : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// sum = (1, 2) + (2, 5) = (3, 7): mean 5, variance 4, d = 2: (-1, 1).
// CHECK-LABEL: @residual_layer_norm
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}-1 1{{$}}
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}3 7{{$}}
func.func @residual_layer_norm(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>},
                               %r: tensor<?x2xf32> {test.value = dense<[[2.0, 5.0]]> : tensor<1x2xf32>},
                               %g: tensor<2xf32> {test.value = dense<1.0> : tensor<2xf32>},
                               %b: tensor<2xf32> {test.value = dense<0.0> : tensor<2xf32>}) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %y, %sum = transformer.residual_layer_norm %x, %r, %g, %b norm<eps = 0.0> : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>)
  return %y, %sum : tensor<?x2xf32>, tensor<?x2xf32>
}

// At x = 1, 0, -2:
// gelu: x Phi(x): Phi(1) = 0.841344746, -2 Phi(-2) = -2 * 0.0227501319
// gelu_tanh: u = sqrt(2/pi) (1 + 0.044715) = 0.833562, (1 + tanh u) / 2 = 0.841191991;
//            u = sqrt(2/pi) (-2 - 8 * 0.044715) = -1.88119, -(1 + tanh u) = -0.0454023059
// silu: 1 / (1 + 1/e) = 0.731058579, -2 / (1 + e^2) = -0.238405844
// quick_gelu: 1 / (1 + e^-1.702) = 0.845795766, -2 / (1 + e^3.404) = -0.0643413769
// tanh: 0.761594156, -0.96402758
// CHECK-LABEL: @activations
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}1 0 0{{$}}
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}0.841344746 0 -0.0455002639{{$}}
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}0.841191991 0 -0.0454023059{{$}}
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}0.731058579 0 -0.238405844{{$}}
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}0.845795766 0 -0.0643413769{{$}}
// CHECK-NEXT: [1, 3]
// CHECK-NEXT: {{^}}0.761594156 0 -0.96402758{{$}}
func.func @activations(%x: tensor<?x3xf32> {test.value = dense<[[1.0, 0.0, -2.0]]> : tensor<1x3xf32>})
    -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  %0 = transformer.activation relu %x : tensor<?x3xf32>
  %1 = transformer.activation gelu %x : tensor<?x3xf32>
  %2 = transformer.activation gelu_tanh %x : tensor<?x3xf32>
  %3 = transformer.activation silu %x : tensor<?x3xf32>
  %4 = transformer.activation quick_gelu %x : tensor<?x3xf32>
  %5 = transformer.activation tanh %x : tensor<?x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}

// (3, 4, 0, 0): the mean of squares is 6.25; sqrt(6.25 + 2.75) = 3. The same as a sum.
// CHECK-LABEL: @rms_norm
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1 2.66666667 0 0{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1.2 3.2 0 0{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}3 4 0 0{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}0.6 0.8 0 0{{$}}
func.func @rms_norm(%x: tensor<?x4xf32> {test.value = dense<[[3.0, 4.0, 0.0, 0.0]]> : tensor<1x4xf32>},
                    %y: tensor<?x4xf32> {test.value = dense<[[1.0, 1.0, 2.0, 0.0]]> : tensor<1x4xf32>},
                    %r: tensor<?x4xf32> {test.value = dense<[[2.0, 3.0, -2.0, 0.0]]> : tensor<1x4xf32>},
                    %g: tensor<4xf32> {test.value = dense<[1.0, 2.0, 1.0, 1.0]> : tensor<4xf32>},
                    %h: tensor<2xf32> {test.value = dense<1.0> : tensor<2xf32>}) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = transformer.rms_norm %x, %g norm<eps = 2.75> : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %1, %sum = transformer.residual_rms_norm %y, %r, %g norm<eps = 0.0> : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // Of two heads: the second is zeros.
  %2 = transformer.rms_norm %x, %h norm<eps = 12.5> {num_heads = 2 : i64} : tensor<?x4xf32>, tensor<2xf32> -> tensor<?x4xf32>
  return %0, %1, %sum, %2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
