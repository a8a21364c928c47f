// RUN: transformer-interpret %s | FileCheck %s

// g = 0.5 (4, 8) + 0.5 p = (2.5, 5); buffer = 0.5 (0.5, -1) + g; p - 2 buffer.
// CHECK-LABEL: @sgd
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}-4.5 -7{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}2.75 4.5{{$}}
func.func @sgd(%p: tensor<2xf32> {test.value = dense<[1.0, 2.0]> : tensor<2xf32>},
               %b: tensor<2xf32> {test.value = dense<[0.5, -1.0]> : tensor<2xf32>},
               %g: tensor<2xf32> {test.value = dense<[4.0, 8.0]> : tensor<2xf32>},
               %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
               %some: tensor<f64> {test.value = dense<0.5> : tensor<f64>},
               %rate: tensor<f64> {test.value = dense<2.0> : tensor<f64>}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:2 = transformer.sgd_update %p, %b, %g, %half rate %rate momentum %some decay %some : tensor<2xf32>
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// The middle one of three rows, as above; the others stay. With a scale of NaN all do.
// CHECK-LABEL: @rows
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}-7{{$}}
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}0.5{{$}}
// CHECK-NEXT: {{^}}4.5{{$}}
// CHECK-NEXT: {{^}}-1{{$}}
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}1{{$}}
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: {{^}}2{{$}}
func.func @rows(%p: tensor<3x1xf32> {test.value = dense<[[1.0], [2.0], [2.0]]> : tensor<3x1xf32>},
                %b: tensor<3x1xf32> {test.value = dense<[[0.5], [-1.0], [-1.0]]> : tensor<3x1xf32>},
                %g: tensor<3x1xf32> {test.value = dense<[[4.0], [8.0], [8.0]]> : tensor<3x1xf32>},
                %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
                %nan: tensor<f32> {test.value = dense<0x7FC00000> : tensor<f32>},
                %some: tensor<f64> {test.value = dense<0.5> : tensor<f64>},
                %rate: tensor<f64> {test.value = dense<2.0> : tensor<f64>}) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>) {
  %first = arith.constant 1 : index
  %end = arith.constant 2 : index
  %0:2 = transformer.sgd_update %p, %b, %g, %half rate %rate momentum %some decay %some rows(%first, %end) : tensor<3x1xf32>
  %1:2 = transformer.sgd_update %p, %b, %g, %nan rate %rate momentum %some decay %some rows(%first, %end) {skippable} : tensor<3x1xf32>
  return %0#0, %0#1, %1#0 : tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>
}

// g = 3, the first step's means of g and g^2 are these: 0.75 p - 0.5 g / (g + 1).
// CHECK-LABEL: @adamw
// CHECK-NEXT: [1]
// CHECK-NEXT: {{^}}2.625{{$}}
// CHECK-NEXT: [1]
// CHECK-NEXT: {{^}}1.5{{$}}
// CHECK-NEXT: [1]
// CHECK-NEXT: {{^}}4.5{{$}}
func.func @adamw(%p: tensor<1xf32> {test.value = dense<4.0> : tensor<1xf32>},
                 %zero: tensor<1xf32> {test.value = dense<0.0> : tensor<1xf32>},
                 %g: tensor<1xf32> {test.value = dense<6.0> : tensor<1xf32>},
                 %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
                 %step: tensor<i64> {test.value = dense<1> : tensor<i64>},
                 %some: tensor<f64> {test.value = dense<0.5> : tensor<f64>},
                 %eps: tensor<f64> {test.value = dense<1.0> : tensor<f64>}) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0:3 = transformer.adamw_update %p, %zero, %zero, %g, %half step %step rate %some betas(%some, %some) epsilon %eps decay %some : tensor<1xf32>
  return %0#0, %0#1, %0#2 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// g = ((2, 2), (4, 4)), share = 4^-0.5. Rows: (4 + 4) / 2, (0 + 16) / 2; columns: (2 + 10) / 2, (14 + 10) / 2; mean of rows 6.
// v = ((4, 8), (8, 16)), u^2 = ((1, 0.5), (2, 1)): rms(u) = sqrt(1.125) is 1.5 / sqrt(2), d is 0.75 / sqrt(2).
// 0.9 p - 0.25 5 / 2 u: eps2 is more than rms(p) = sqrt(12.5).
// CHECK-LABEL: @adafactor_matrix
// CHECK-NEXT: [2, 2]
// CHECK-NEXT: {{^}}2.075 3.15805826{{$}}
// CHECK-NEXT: {{^}}-0.883883476 3.875{{$}}
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}4{{$}}
// CHECK-NEXT: {{^}}8{{$}}
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}6 12{{$}}
func.func @adafactor_matrix(%p: tensor<2x2xf32> {test.value = dense<[[3.0, 4.0], [0.0, 5.0]]> : tensor<2x2xf32>},
                            %r: tensor<2x1xf32> {test.value = dense<[[4.0], [0.0]]> : tensor<2x1xf32>},
                            %c: tensor<1x2xf32> {test.value = dense<[[2.0, 14.0]]> : tensor<1x2xf32>},
                            %g: tensor<2x2xf32> {test.value = dense<[[4.0, 4.0], [8.0, 8.0]]> : tensor<2x2xf32>},
                            %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
                            %step: tensor<i64> {test.value = dense<4> : tensor<i64>},
                            %rate: tensor<f64> {test.value = dense<0.25> : tensor<f64>},
                            %falls: tensor<f64> {test.value = dense<-0.5> : tensor<f64>},
                            %eps1: tensor<f64> {test.value = dense<0.125> : tensor<f64>},
                            %eps2: tensor<f64> {test.value = dense<5.0> : tensor<f64>},
                            %d: tensor<f64> {test.value = dense<0.53033008588991064> : tensor<f64>},
                            %decay: tensor<f64> {test.value = dense<0.4> : tensor<f64>}) -> (tensor<2x2xf32>, tensor<2x1xf32>, tensor<1x2xf32>) {
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %c : tensor<2x1xf32>, tensor<1x2xf32>) %g, %half
      step %step rate %rate beta2_decay %falls eps(%eps1, %eps2) clip_threshold %d decay %decay : tensor<2x2xf32>
  return %0, %1#0, %1#1 : tensor<2x2xf32>, tensor<2x1xf32>, tensor<1x2xf32>
}

// Two matrices, g = ((2), (4)) and ((0), (2)), share = 4^-0.5. Rows: (2, 8) and (0, 2); columns: 5 and 1, as the means of
// rows. v = (2, 8) and (eps1^2, 2), so all u but the third are sqrt(2), and rms(u) is below d. 0.9 p - 0.25 5 u.
// CHECK-LABEL: @adafactor_matrices
// CHECK-NEXT: [2, 2, 1]
// CHECK-NEXT: {{^}}0.932233047{{$}}
// CHECK-NEXT: {{^}}1.83223305{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}2.73223305{{$}}
// CHECK-NEXT: [2, 2, 1]
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: {{^}}8{{$}}
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: [2, 1, 1]
// CHECK-NEXT: {{^}}5{{$}}
// CHECK-NEXT: {{^}}1{{$}}
func.func @adafactor_matrices(%p: tensor<2x2x1xf32> {test.value = dense<[[[3.0], [4.0]], [[0.0], [5.0]]]> : tensor<2x2x1xf32>},
                              %r: tensor<2x2x1xf32> {test.value = dense<0.0> : tensor<2x2x1xf32>},
                              %c: tensor<2x1x1xf32> {test.value = dense<0.0> : tensor<2x1x1xf32>},
                              %g: tensor<2x2x1xf32> {test.value = dense<[[[4.0], [8.0]], [[0.0], [4.0]]]> : tensor<2x2x1xf32>},
                              %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
                              %step: tensor<i64> {test.value = dense<4> : tensor<i64>},
                              %rate: tensor<f64> {test.value = dense<0.25> : tensor<f64>},
                              %falls: tensor<f64> {test.value = dense<-0.5> : tensor<f64>},
                              %eps1: tensor<f64> {test.value = dense<0.125> : tensor<f64>},
                              %eps2: tensor<f64> {test.value = dense<5.0> : tensor<f64>},
                              %d: tensor<f64> {test.value = dense<2.0> : tensor<f64>},
                              %decay: tensor<f64> {test.value = dense<0.4> : tensor<f64>}) -> (tensor<2x2x1xf32>, tensor<2x2x1xf32>, tensor<2x1x1xf32>) {
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %c : tensor<2x2x1xf32>, tensor<2x1x1xf32>) %g, %half
      step %step rate %rate beta2_decay %falls eps(%eps1, %eps2) clip_threshold %d decay %decay : tensor<2x2x1xf32>
  return %0, %1#0, %1#1 : tensor<2x2x1xf32>, tensor<2x2x1xf32>, tensor<2x1x1xf32>
}

// Step 1: v = g^2 = (0, 36), not less than eps1^2 = 4: u = (0, 1), of which rms is below d. 0.5 p - rms(p) u, rms(p) = 5:
// the rate is at most 1 / sqrt(1).
// CHECK-LABEL: @adafactor_vector
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}0.5 -1.5{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}0 36{{$}}
func.func @adafactor_vector(%p: tensor<2xf32> {test.value = dense<[1.0, 7.0]> : tensor<2xf32>},
                            %v: tensor<2xf32> {test.value = dense<[8.0, 9.0]> : tensor<2xf32>},
                            %g: tensor<2xf32> {test.value = dense<[0.0, 12.0]> : tensor<2xf32>},
                            %half: tensor<f32> {test.value = dense<0.5> : tensor<f32>},
                            %step: tensor<i64> {test.value = dense<1> : tensor<i64>},
                            %rate: tensor<f64> {test.value = dense<5.0> : tensor<f64>},
                            %falls: tensor<f64> {test.value = dense<-0.8> : tensor<f64>},
                            %eps1: tensor<f64> {test.value = dense<2.0> : tensor<f64>},
                            %eps2: tensor<f64> {test.value = dense<0.001> : tensor<f64>},
                            %d: tensor<f64> {test.value = dense<1.0> : tensor<f64>},
                            %decay: tensor<f64> {test.value = dense<0.1> : tensor<f64>}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0, %1 = transformer.adafactor_update %p moments(%v : tensor<2xf32>) %g, %half
      step %step rate %rate beta2_decay %falls eps(%eps1, %eps2) clip_threshold %d decay %decay : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// A step whose scale is NaN is skipped.
// CHECK-LABEL: @skipped
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}1 2{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}0.5 -1{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}1 2{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}0.5 -1{{$}}
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}4 8{{$}}
func.func @skipped(%p: tensor<2xf32> {test.value = dense<[1.0, 2.0]> : tensor<2xf32>},
                   %b: tensor<2xf32> {test.value = dense<[0.5, -1.0]> : tensor<2xf32>},
                   %g: tensor<2xf32> {test.value = dense<[4.0, 8.0]> : tensor<2xf32>},
                   %nan: tensor<f32> {test.value = dense<0x7FC00000> : tensor<f32>},
                   %step: tensor<i64> {test.value = dense<3> : tensor<i64>},
                   %some: tensor<f64> {test.value = dense<0.5> : tensor<f64>}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:2 = transformer.sgd_update %p, %b, %g, %nan rate %some momentum %some decay %some {skippable} : tensor<2xf32>
  %1:3 = transformer.adamw_update %p, %b, %g, %g, %nan step %step rate %some betas(%some, %some) epsilon %some decay %some {skippable} : tensor<2xf32>
  return %0#0, %0#1, %1#0, %1#1, %1#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
