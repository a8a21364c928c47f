// RUN: transformer-interpret %s | FileCheck %s

// Sequences of 2 tokens for each of the 3 items; their columns.
// CHECK-LABEL: @uniform
// CHECK-NEXT: [6]
// CHECK-NEXT: {{^}}0 1 0 1 0 1{{$}}
func.func @uniform(%x: tensor<?x1xf32> {test.value = dense<0.0> : tensor<3x1xf32>}) -> tensor<?xi64> {
  %seq = transformer.uniform_sequences %x length 2 : tensor<?x1xf32>
  %columns = transformer.token_columns %seq : tensor<?xi64>
  return %columns : tensor<?xi64>
}

// Columns count padding.
// CHECK-LABEL: @columns
// CHECK-NEXT: [3]
// CHECK-NEXT: {{^}}1 2 0{{$}}
func.func @columns(%mask: tensor<?x?xi64> {test.value = dense<[[0, 1, 1], [1, 0, 0]]> : tensor<2x3xi64>}) -> tensor<?xi64> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %columns = transformer.token_columns %seq : tensor<?xi64>
  return %columns : tensor<?xi64>
}

// Images of 2 channels, 3 lines, 5 columns; patches of 2 lines and 2 columns: two
// of them, without the last line and column. Behind one token that is none; the
// second patch of the first image is masked.
// CHECK-LABEL: @image
// CHECK-NEXT: [5, 8]
// CHECK-NEXT: {{^}}0 0 0 0 0 0 0 0{{$}}
// CHECK-NEXT: {{^}}0 1 5 6 15 16 20 21{{$}}
// CHECK-NEXT: {{^}}0 0 0 0 0 0 0 0{{$}}
// CHECK-NEXT: {{^}}30 31 35 36 45 46 50 51{{$}}
// CHECK-NEXT: {{^}}32 33 37 38 47 48 52 53{{$}}
func.func @image(%x: tensor<?x2x3x5xf32> {test.value = dense<[
      [[[0.0, 1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, 9.0], [10.0, 11.0, 12.0, 13.0, 14.0]],
       [[15.0, 16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0, 24.0], [25.0, 26.0, 27.0, 28.0, 29.0]]],
      [[[30.0, 31.0, 32.0, 33.0, 34.0], [35.0, 36.0, 37.0, 38.0, 39.0], [40.0, 41.0, 42.0, 43.0, 44.0]],
       [[45.0, 46.0, 47.0, 48.0, 49.0], [50.0, 51.0, 52.0, 53.0, 54.0], [55.0, 56.0, 57.0, 58.0, 59.0]]]]> : tensor<2x2x3x5xf32>},
                 %mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 0], [1, 1, 1]]> : tensor<2x3xi64>}) -> tensor<?x8xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.patches %x, %seq sizes [2, 2] first 1 : tensor<?x2x3x5xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A signal of 2 channels: its moments are rows.
// CHECK-LABEL: @signal
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}1 4{{$}}
// CHECK-NEXT: {{^}}2 5{{$}}
// CHECK-NEXT: {{^}}3 6{{$}}
func.func @signal(%x: tensor<?x2x3xf32> {test.value = dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>}) -> tensor<?x2xf32> {
  %seq = transformer.uniform_sequences %x length 3 : tensor<?x2x3xf32>
  %y = transformer.patches %x, %seq sizes [1] first 0 : tensor<?x2x3xf32> -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// Neighbours of the same sequence: (1, 2, 3) and (4).
// CHECK-LABEL: @same
// CHECK-NEXT: [4, 3]
// CHECK-NEXT: {{^}}0 1 2{{$}}
// CHECK-NEXT: {{^}}1 2 3{{$}}
// CHECK-NEXT: {{^}}2 3 0{{$}}
// CHECK-NEXT: {{^}}0 4 0{{$}}
func.func @same(%x: tensor<?x1xf32> {test.value = dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>},
                %mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 1], [0, 1, 0]]> : tensor<2x3xi64>}) -> tensor<?x3xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.windows %x, %seq -> %seq kernel 3 stride 1 padding 1 : tensor<?x1xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// Every second one of 4, two sequences.
// CHECK-LABEL: @stride
// CHECK-NEXT: [4, 4]
// CHECK-NEXT: {{^}}0 0 1 10{{$}}
// CHECK-NEXT: {{^}}2 20 3 30{{$}}
// CHECK-NEXT: {{^}}0 0 5 50{{$}}
// CHECK-NEXT: {{^}}6 60 7 70{{$}}
func.func @stride(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 50.0], [6.0, 60.0], [7.0, 70.0], [8.0, 80.0]]> : tensor<8x2xf32>},
                  %batch: tensor<?xf32> {test.value = dense<0.0> : tensor<2xf32>}) -> tensor<?x4xf32> {
  %from = transformer.uniform_sequences %batch length 4 : tensor<?xf32>
  %to = transformer.uniform_sequences %batch length 2 : tensor<?xf32>
  %y = transformer.windows %x, %from -> %to kernel 2 stride 2 padding 1 : tensor<?x2xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
