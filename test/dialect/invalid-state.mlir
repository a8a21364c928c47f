// RUN: transformer-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{state "s": expected one result that is the updated argument 0, found 0}}
func.func @not_returned(%s: tensor<4xf32> {transformer.state = "s"}) -> tensor<4xf32> {
  return %s : tensor<4xf32>
}

// -----

// expected-error @below {{state "s": expected one result that is the updated argument 0, found 2}}
func.func @returned_twice(%s: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}, tensor<4xf32> {transformer.state = "s"}) {
  return %s, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{state "s": arguments 0 and 1 both have it}}
func.func @two_arguments(%s: tensor<4xf32> {transformer.state = "s"}, %t: tensor<4xf32> {transformer.state = "s"}) -> (tensor<4xf32> {transformer.state = "s"}) {
  return %s : tensor<4xf32>
}

// -----

// expected-error @below {{state "s": expected a result of the argument's type 'tensor<4xf32>', found 'tensor<4xi64>'}}
func.func @another_type(%s: tensor<4xf32> {transformer.state = "s"}, %t: tensor<4xi64>) -> (tensor<4xi64> {transformer.state = "s"}) {
  return %t : tensor<4xi64>
}

// -----

// expected-error @below {{state "t": result 0 updates no argument}}
func.func @no_argument(%s: tensor<4xf32>) -> (tensor<4xf32> {transformer.state = "t"}) {
  return %s : tensor<4xf32>
}

// -----

// expected-error @below {{state "s": expected a tensor with at most one dynamic size, found 'tensor<?x?xf32>'}}
func.func @two_sizes(%s: tensor<?x?xf32> {transformer.state = "s"}) -> (tensor<?x?xf32> {transformer.state = "s"}) {
  return %s : tensor<?x?xf32>
}

// -----

// expected-error @below {{attribute '"transformer.state"' must be a string, found 1 : i64}}
func.func @no_name(%s: tensor<4xf32> {transformer.state = 1 : i64}) -> tensor<4xf32> {
  return %s : tensor<4xf32>
}
