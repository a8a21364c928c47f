// RUN: transformer-interpret %s | FileCheck %s

// Every kind of default, made from input_ids. count_not_equal, value 1: row 0 (5, 1, 6)
// counts 1, -, 2 onto 1; the padding stays 1.
// CHECK-LABEL: @kinds
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}1 1 1{{$}}
// CHECK-NEXT: {{^}}1 1 1{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}0 0 0{{$}}
// CHECK-NEXT: {{^}}0 0 0{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}0 1 2{{$}}
// CHECK-NEXT: {{^}}0 1 2{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}1 0 1{{$}}
// CHECK-NEXT: {{^}}0 0 1{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}1 0 1{{$}}
// CHECK-NEXT: {{^}}0 0 0{{$}}
// CHECK-NEXT: [2, 3]
// CHECK-NEXT: {{^}}2 1 3{{$}}
// CHECK-NEXT: {{^}}1 1 2{{$}}
func.func @kinds(%ids: tensor<?x?xi64> {transformer.name = "input_ids", test.value = dense<[[5, 1, 6], [1, 1, 0]]> : tensor<2x3xi64>},
                 %ones: tensor<?x?xi64> {transformer.name = "ones", transformer.default = #transformer.default<ones>},
                 %zeros: tensor<?x?xi64> {transformer.name = "zeros", transformer.default = #transformer.default<zeros>},
                 %columns: tensor<?x?xi64> {transformer.name = "columns", transformer.default = #transformer.default<columns>},
                 %not_equal: tensor<?x?xi64> {transformer.name = "not_equal", transformer.default = #transformer.default<not_equal, "input_ids", 1>},
                 %greater: tensor<?x?xi64> {transformer.name = "greater", transformer.default = #transformer.default<greater, "input_ids", 1>},
                 %count: tensor<?x?xi64> {transformer.name = "count", transformer.default = #transformer.default<count_not_equal, "input_ids", 1>})
    -> (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>) attributes {transformer.entry} {
  return %ones, %zeros, %columns, %not_equal, %greater, %count : tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>
}

// A default that looks at a defaulted input further down, and sizes by name.
// CHECK-LABEL: @chain
// CHECK-NEXT: [1, 2]
// CHECK-NEXT: {{^}}0 1{{$}}
// CHECK-NEXT: [1, 4]
// CHECK-NEXT: {{^}}1 1 1 1{{$}}
func.func @chain(%mask: tensor<?x?xi64> {transformer.name = "mask", transformer.default = #transformer.default<greater, "columns", 0>},
                 %columns: tensor<?x?xi64> {transformer.name = "columns", transformer.default = #transformer.default<columns>},
                 %ids: tensor<?x?xi64> {transformer.name = "ids", test.value = dense<0> : tensor<1x2xi64>},
                 %decoder_ids: tensor<?x?xi64> {transformer.name = "decoder_ids", transformer.dims = ["batch", "target"], test.value = dense<0> : tensor<1x4xi64>},
                 %decoder_mask: tensor<?x?xi64> {transformer.name = "decoder_mask", transformer.dims = ["batch", "target"], transformer.default = #transformer.default<ones>})
    -> (tensor<?x?xi64>, tensor<?x?xi64>) attributes {transformer.entry} {
  return %mask, %decoder_mask : tensor<?x?xi64>, tensor<?x?xi64>
}
