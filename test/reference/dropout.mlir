// RUN: transformer-interpret %s | FileCheck %s

// Of the counter (0, 0, 0, 0) and the key 0 Philox4x32-10 makes 6627e8d5, e169c58d, bc57ac4c and
// 9b00dbd8 (Salmon et al. 2011): 0.3991, 0.8805, 0.7357 and 0.6055 times 2^32, the numbers of the
// columns 0, 8, 16 and 24. The others here and below are from an implementation in Python.
// CHECK-LABEL: @rows
// CHECK-NEXT: [2, 34]
// CHECK-NEXT: {{^}}0 2 0 2 2 0 2 2 2 0 0 0 2 0 2 0 2 2 0 2 2 2 2 2 2 0 0 0 2 0 0 0 0 2{{$}}
// CHECK-NEXT: {{^}}0 0 0 2 2 2 0 0 2 2 2 2 2 0 2 0 0 2 0 0 0 2 0 2 0 0 2 0 0 2 0 0 0 0{{$}}
func.func @rows(%x: tensor<?x34xf32> {test.value = dense<1.0> : tensor<2x34xf32>}) -> tensor<?x34xf32> {
  %key = arith.constant 0 : i64
  %y = transformer.dropout %x key(%key) rate 0.5 : tensor<?x34xf32>
  return %y : tensor<?x34xf32>
}

// 0.3991 lies between 0.375 and 0.4375.
// CHECK-LABEL: @rates
// CHECK-NEXT: [1, 1]
// CHECK-NEXT: {{^}}8{{$}}
// CHECK-NEXT: [1, 1]
// CHECK-NEXT: {{^}}0{{$}}
func.func @rates(%x: tensor<?x1xf32> {test.value = dense<5.0> : tensor<1x1xf32>}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %key = arith.constant 0 : i64
  %y = transformer.dropout %x key(%key) rate 0.375 : tensor<?x1xf32>
  %z = transformer.dropout %x key(%key) rate 0.4375 : tensor<?x1xf32>
  return %y, %z : tensor<?x1xf32>, tensor<?x1xf32>
}

// Equal scores: what is left of the values, twice, over the number of keys.
// CHECK-LABEL: @attention
// CHECK-NEXT: [3, 2]
// CHECK-NEXT: {{^}}2 6{{$}}
// CHECK-NEXT: {{^}}0 30{{$}}
// CHECK-NEXT: {{^}}67.3333333 22{{$}}
func.func @attention(%q: tensor<?x2xf32> {test.value = dense<0.0> : tensor<3x2xf32>},
                     %v: tensor<?x2xf32> {test.value = dense<[[1.0, 3.0], [10.0, 30.0], [100.0, 300.0]]> : tensor<3x2xf32>},
                     %ids: tensor<?x?xi64> {test.value = dense<1> : tensor<1x3xi64>}) -> tensor<?x2xf32> {
  %i, %seq = transformer.pack_tokens(%ids) mask(%ids) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %key = arith.constant -3 : i64
  %y = transformer.attention %q, %q, %v sequences(%seq, %seq) dropout_key(%key) options<causal, dropout = 0.5>
      {num_heads = 2 : i64, scale = 1.0 : f64} : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// Without a key nothing is dropped.
// CHECK-LABEL: @inference
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}1 2{{$}}
func.func @inference(%x: tensor<?x2xf32> {test.value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>}) -> tensor<?x2xf32> {
  %y = transformer.dropout %x rate 0.5 : tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
