// RUN: transformer-interpret %s | FileCheck %s

// CHECK-LABEL: @embedding
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}10 12{{$}}
// CHECK-NEXT: {{^}}2 4{{$}}
// CHECK-NEXT: {{^}}10 12{{$}}
func.func @embedding(%ids: tensor<?xi64> {test.value = dense<[2, 0, 2]> : tensor<3xi64>},
                     %table: tensor<3x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}) -> tensor<?x2xf32> {
  %e = transformer.embedding %ids, %table {scale = 2.0 : f64} : tensor<?xi64>, tensor<3x2xf32> -> tensor<?x2xf32>
  return %e : tensor<?x2xf32>
}

// Width 4: angles p and p / 10000^(2/4) = p / 100.
// sin 1 = 0.841470985, cos 1 = 0.540302306, sin 0.01 = 0.00999983333, cos 0.01 = 0.99995000.
// CHECK-LABEL: @interleaved
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}0 1 0 1{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.540302306 0.00999983333 0.99995{{$}}
func.func @interleaved() -> tensor<2x4xf32> {
  %p = transformer.sinusoidal_table interleaved : tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// CHECK-LABEL: @halves
// CHECK-NEXT: [2, 4]
// CHECK-NEXT: {{^}}0 0 1 1{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.00999983333 0.540302306 0.99995{{$}}
func.func @halves() -> tensor<2x4xf32> {
  %p = transformer.sinusoidal_table halves : tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// Width 3: angles 1 and 1 / 10000^(2/3) = 0.00215443469. Interleaved ends with
// a sin; halves has two sin, then one cos.
// CHECK-LABEL: @odd_width
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}0 1 0{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.540302306 0.00215443302{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}0 0 1{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.00215443302 0.540302306{{$}}
func.func @odd_width() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %p = transformer.sinusoidal_table interleaved : tensor<2x3xf32>
  %h = transformer.sinusoidal_table halves : tensor<2x3xf32>
  return %p, %h : tensor<2x3xf32>, tensor<2x3xf32>
}

// Row 1, row 0, row 1 of the table.
// CHECK-LABEL: @positions
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}0.841470985 0.540302306{{$}}
// CHECK-NEXT: {{^}}0 1{{$}}
// CHECK-NEXT: {{^}}0.841470985 0.540302306{{$}}
func.func @positions(%positions: tensor<?xi64> {test.value = dense<[1, 0, 1]> : tensor<3xi64>}) -> tensor<?x2xf32> {
  %p = transformer.sinusoidal_position %positions interleaved max_positions 2 : tensor<?xi64> -> tensor<?x2xf32>
  return %p : tensor<?x2xf32>
}

// Sum: words[1] + places[0] = (1, 3) + (2, 6) = (3, 9), mean 6, biased variance 9,
// d = 3; (-1, 1) * gamma (2, 2) + beta (10, 20) = (8, 22).
// CHECK-LABEL: @embedding_layer_norm
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}8 22{{$}}
func.func @embedding_layer_norm(%ids: tensor<?xi64> {test.value = dense<1> : tensor<1xi64>},
                                %positions: tensor<?xi64> {test.value = dense<0> : tensor<1xi64>},
                                %words: tensor<2x2xf32> {test.value = dense<[[9.0, 9.0], [1.0, 3.0]]> : tensor<2x2xf32>},
                                %places: tensor<1x2xf32> {test.value = dense<[[2.0, 6.0]]> : tensor<1x2xf32>},
                                %gamma: tensor<2xf32> {test.value = dense<2.0> : tensor<2xf32>},
                                %beta: tensor<2xf32> {test.value = dense<[10.0, 20.0]> : tensor<2xf32>}) -> tensor<?x2xf32> {
  %y = transformer.embedding_layer_norm ids(%ids, %positions) tables(%words, %places) norm(%gamma, %beta) <eps = 0.0>
      : (tensor<?xi64>, tensor<?xi64>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// theta 100, four columns: frequencies 1 and 0.1. Cosines, then sines.
// CHECK-LABEL: @rotary_table
// CHECK-NEXT: [3, 4]
// CHECK-NEXT: {{^}}1 1 0 0{{$}}
// CHECK-NEXT: {{^}}0.540302306 0.995004165 0.841470985 0.0998334166{{$}}
// CHECK-NEXT: {{^}}-0.989992497 0.955336489 0.141120008 0.295520207{{$}}
// CHECK-NEXT: [3, 4]
// CHECK-NEXT: {{^}}2 2 0 0{{$}}
// CHECK-NEXT: {{^}}-0.832293673 1.75516512 1.81859485 0.958851077{{$}}
func.func @rotary_table(%p: tensor<?xi64> {test.value = dense<[0, 1, 3]> : tensor<3xi64>}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = transformer.rotary_table %p {theta = 100.0 : f64} : tensor<?xi64> -> tensor<?x4xf32>
  %1 = transformer.rotary_table %p frequencies [2.0, 0.5] {scale = 2.0 : f64} : tensor<?xi64> -> tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// Two heads of five columns; the pair (0, 2) turns by 90 degrees, (1, 3) does not,
// column 4 has no partner.
// CHECK-LABEL: @rotary_embedding
// CHECK-NEXT: [1, 10]
// CHECK-NEXT: {{^}}-3 2 1 4 5 -30 20 10 40 50{{$}}
func.func @rotary_embedding(%x: tensor<?x10xf32> {test.value = dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0]]> : tensor<1x10xf32>},
                            %t: tensor<?x4xf32> {test.value = dense<[[0.0, 1.0, 1.0, 0.0]]> : tensor<1x4xf32>}) -> tensor<?x10xf32> {
  %0 = transformer.rotary_embedding %x, %t {num_heads = 2 : i64} : tensor<?x10xf32>, tensor<?x4xf32>
  return %0 : tensor<?x10xf32>
}

// What is added raises the squares of row 0 from 2 to 10 and those of row 2 from 18 to 41.
// CHECK-LABEL: @gradient
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}1 3{{$}}
// CHECK-NEXT: {{^}}2 2{{$}}
// CHECK-NEXT: {{^}}5 4{{$}}
// CHECK: {{^}}31{{$}}
func.func @gradient(%ids: tensor<?xi64> {test.value = dense<[2, 0, 2]> : tensor<3xi64>},
                    %dy: tensor<?x2xf32> {test.value = dense<[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]> : tensor<3x2xf32>},
                    %onto: tensor<3x2xf32> {test.value = dense<[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]> : tensor<3x2xf32>}) -> (tensor<3x2xf32>, tensor<f32>) {
  %d, %s = transformer.embedding_gradient %ids, %dy onto(%onto) : tensor<?xi64>, tensor<?x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>, tensor<f32>
  return %d, %s : tensor<3x2xf32>, tensor<f32>
}
