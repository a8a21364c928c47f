// RUN: not transformer-interpret %s | FileCheck %s

transformer.parameter @nowhere : tensor<2xf32>

// CHECK: @unknown_id
// CHECK-NEXT: error: 'transformer.embedding' at loc({{.*}}): id 3 of token 1 is not in [0, 3)
func.func @unknown_id(%ids: tensor<?xi64> {test.value = dense<[2, 3]> : tensor<2xi64>}, %table: tensor<3x1xf32> {test.value = dense<0.0> : tensor<3x1xf32>}) -> tensor<?x1xf32> {
  %e = transformer.embedding %ids, %table : tensor<?xi64>, tensor<3x1xf32> -> tensor<?x1xf32>
  return %e : tensor<?x1xf32>
}

func.func private @layer(%x: tensor<?x1xf32>, %seq: !transformer.sequences) -> tensor<?x1xf32> {
  %y = transformer.first_token %x, %seq : tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// CHECK: @scope
// CHECK-NEXT: error: layer.3: 'transformer.first_token' at loc({{.*}}): x has 2 rows, but its sequences have 3 tokens
func.func @scope(%x: tensor<?x1xf32> {test.value = dense<0.0> : tensor<2x1xf32>}, %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x3xi64>}) -> tensor<?x1xf32> {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  %y = call @layer(%x, %seq) {transformer.scope = "layer.3"} : (tensor<?x1xf32>, !transformer.sequences) -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// CHECK: @mask_shape
// CHECK-NEXT: input 0 has shape [1, 2], but the mask has [1, 3]
func.func @mask_shape(%ids: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}, %mask: tensor<?x?xi64> {test.value = dense<1> : tensor<1x3xi64>}) -> tensor<?xi64> {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  return %i : tensor<?xi64>
}

// CHECK: @batches
// CHECK-NEXT: sequences hold a batch of 2, but memory's hold a batch of 1
func.func @batches(%x: tensor<?x1xf32> {test.value = dense<0.0> : tensor<2x1xf32>}, %a: tensor<?x?xi64> {test.value = dense<1> : tensor<2x1xi64>},
                   %b: tensor<?x?xi64> {test.value = dense<1> : tensor<1x2xi64>}) -> tensor<?x1xf32> {
  %sa = transformer.pack_tokens() mask(%a) : tensor<?x?xi64>
  %sb = transformer.pack_tokens() mask(%b) : tensor<?x?xi64>
  %y = transformer.attention %x, %x, %x sequences(%sa, %sb) {num_heads = 1 : i64, scale = 1.0 : f64} : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// CHECK: @no_value
// CHECK-NEXT: 'transformer.get_parameter' at loc({{.*}}): no value for parameter 'nowhere'
func.func @no_value() -> tensor<2xf32> {
  %p = transformer.get_parameter @nowhere : tensor<2xf32>
  return %p : tensor<2xf32>
}

// CHECK: @unknown_op
// CHECK-NEXT: 'tensor.pad' at loc({{.*}}): the interpreter does not know this op
func.func @unknown_op(%x: tensor<1xf32> {test.value = dense<0.0> : tensor<1xf32>}) -> tensor<2xf32> {
  %0 = arith.constant 0.0 : f32
  %y = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %0 : f32
  } : tensor<1xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// CHECK: @input_type
// CHECK-NEXT: input 0 of shape [2, 3] is no tensor<?x2xf32>
func.func @input_type(%x: tensor<?x2xf32> {test.value = dense<0.0> : tensor<2x3xf32>}) -> tensor<?x2xf32> {
  return %x : tensor<?x2xf32>
}

// CHECK: @range
// CHECK-NEXT: error: input 'ids': value 7 is not in [0, 7)
func.func @range(%x: tensor<?x?xi64> {transformer.name = "ids", transformer.range = array<i64: 0, 7>, test.value = dense<7> : tensor<1x1xi64>}) {
  return
}

// CHECK: @sizes
// CHECK-NEXT: error: input 'b': expected sequence = 2, found shape [1, 3]
func.func @sizes(%a: tensor<?x?xi64> {transformer.name = "a", test.value = dense<7> : tensor<1x2xi64>}, %b: tensor<?x?xi64> {transformer.name = "b", test.value = dense<7> : tensor<1x3xi64>}) {
  return
}

// CHECK: @missing
// CHECK-NEXT: error: input 'ids' is missing
func.func @missing(%x: tensor<?x?xi64> {transformer.name = "ids"}) {
  return
}

// CHECK: @no_size
// CHECK-NEXT: error: input 'mask' is missing and nothing gives its size
func.func @no_size(%x: tensor<?x?xi64> {transformer.name = "mask", transformer.default = #transformer.default<ones>}) {
  return
}

// CHECK: @outside
// CHECK-NEXT: error: 'tensor.extract_slice' at loc({{.*}}): a slice of 2 from 1 on is not inside of [2, 1]
func.func @outside(%x: tensor<?x1xf32> {test.value = dense<0.0> : tensor<2x1xf32>}) -> tensor<?x1xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y = tensor.extract_slice %x[%c1, 0] [%c2, 1] [1, 1] : tensor<?x1xf32> to tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
