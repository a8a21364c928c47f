// RUN: transformer-interpret %s | FileCheck %s

// A mask with holes and left padding: the kept tokens keep their order.
// Row 0 keeps columns 0 and 2, row 1 columns 1 and 2.
// CHECK-LABEL: @pack_holes
// CHECK-NEXT: [4]
// CHECK-NEXT: {{^}}10 12 21 22{{$}}
// CHECK-NEXT: [4]
// CHECK-NEXT: {{^}}0 2 4 5{{$}}
func.func @pack_holes(%ids: tensor<?x?xi64> {test.value = dense<[[10, 11, 12], [20, 21, 22]]> : tensor<2x3xi64>},
                      %places: tensor<?x?xi64> {test.value = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>},
                      %mask: tensor<?x?xi64> {test.value = dense<[[1, 0, 1], [0, 1, -1]]> : tensor<2x3xi64>})
    -> (tensor<?xi64>, tensor<?xi64>) {
  %i, %p, %seq = transformer.pack_tokens(%ids, %places) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  return %i, %p : tensor<?xi64>, tensor<?xi64>
}

// Padding comes back as zeros; a fully masked row (row 1) is all zeros.
// CHECK-LABEL: @unpack
// CHECK-NEXT: [3, 2, 2]
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}1 2{{$}}
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}3 4{{$}}
// CHECK-NEXT: {{^}}5 6{{$}}
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}0 2{{$}}
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}4 6{{$}}
func.func @unpack(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>},
                  %mask: tensor<?x?xi64> {test.value = dense<[[0, 1], [0, 0], [1, 1]]> : tensor<3x2xi64>})
    -> (tensor<?x?x2xf32>, tensor<?x?xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.unpack_tokens %x, %seq : tensor<?x2xf32> -> tensor<?x?x2xf32>
  %c = transformer.unpack_tokens %x, %seq {column = 1 : i64} : tensor<?x2xf32> -> tensor<?x?xf32>
  return %y, %c : tensor<?x?x2xf32>, tensor<?x?xf32>
}

// The first kept token of a row, not its column 0; zeros for an empty sequence.
// CHECK-LABEL: @first_token
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}1 2{{$}}
// CHECK-NEXT: {{^}}0 0{{$}}
// CHECK-NEXT: {{^}}3 4{{$}}
func.func @first_token(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>},
                       %mask: tensor<?x?xi64> {test.value = dense<[[0, 1], [0, 0], [1, 1]]> : tensor<3x2xi64>}) -> tensor<?x2xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = transformer.first_token %x, %seq : tensor<?x2xf32> -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// Of the tokens a label counts of each but ignored ones and padding, here 7: in the order of rows, the
// first of them is the third token. Next, the label of a token is its successor's.
// CHECK-LABEL: @labelled
// CHECK-NEXT: [3]
// CHECK-NEXT: {{^}}2 4 6{{$}}
// CHECK-NEXT: [3, 1]
// CHECK-NEXT: {{^}}3{{$}}
// CHECK-NEXT: {{^}}4{{$}}
// CHECK-NEXT: {{^}}5{{$}}
// CHECK-LABEL: @labelled_next
// CHECK-NEXT: [2]
// CHECK-NEXT: {{^}}2 6{{$}}
// CHECK-NEXT: [2, 1]
// CHECK-NEXT: {{^}}2{{$}}
// CHECK-NEXT: {{^}}4{{$}}
func.func @labelled(%x: tensor<?x1xf32> {test.value = dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>},
                    %labels: tensor<?x?xi64> {test.value = dense<[[-100, 7, 2], [3, 4, 6]]> : tensor<2x3xi64>},
                    %mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 1], [0, 1, 1]]> : tensor<2x3xi64>}) -> (tensor<?xi64>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %l, %spans = transformer.labelled_tokens %labels, %seq mask(%mask) {padding_index = 7 : i64} : tensor<?x?xi64>, tensor<?x?xi64> -> tensor<?xi64>
  %y = transformer.first_token %x, %spans : tensor<?x1xf32> -> tensor<?x1xf32>
  return %l, %y : tensor<?xi64>, tensor<?x1xf32>
}
func.func @labelled_next(%x: tensor<?x1xf32> {test.value = dense<[[1.0], [2.0], [3.0], [4.0], [5.0]]> : tensor<5x1xf32>},
                    %labels: tensor<?x?xi64> {test.value = dense<[[-100, 7, 2], [3, 4, 6]]> : tensor<2x3xi64>},
                    %mask: tensor<?x?xi64> {test.value = dense<[[1, 1, 1], [0, 1, 1]]> : tensor<2x3xi64>}) -> (tensor<?xi64>, tensor<?x1xf32>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %l, %spans = transformer.labelled_tokens %labels, %seq mask(%mask) {padding_index = 7 : i64, shifted} : tensor<?x?xi64>, tensor<?x?xi64> -> tensor<?xi64>
  %y = transformer.first_token %x, %spans : tensor<?x1xf32> -> tensor<?x1xf32>
  return %l, %y : tensor<?xi64>, tensor<?x1xf32>
}

// No token at all.
// CHECK-LABEL: @empty
// CHECK-NEXT: [0]
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}0 0{{$}}
func.func @empty(%ids: tensor<?x?xi64> {test.value = dense<[[7, 8]]> : tensor<1x2xi64>},
                 %mask: tensor<?x?xi64> {test.value = dense<0> : tensor<1x2xi64>},
                 %table: tensor<9x2xf32> {test.value = dense<1.0> : tensor<9x2xf32>}) -> (tensor<?xi64>, tensor<?x2xf32>) {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %e = transformer.embedding %i, %table : tensor<?xi64>, tensor<9x2xf32> -> tensor<?x2xf32>
  %a = transformer.attention %e, %e, %e sequences(%seq, %seq) {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  %y = transformer.first_token %a, %seq : tensor<?x2xf32> -> tensor<?x2xf32>
  return %i, %y : tensor<?xi64>, tensor<?x2xf32>
}
