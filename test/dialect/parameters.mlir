// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK: transformer.parameter @encoder.layer.0.weight : tensor<4x2xf32> init(<normal, 2.000000e-02 : f64>) aliases ["bert.encoder.layer.0.weight", "layer.0.kernel"]
transformer.parameter @"encoder.layer.0.weight" : tensor<4x2xf32> init(#transformer.init<normal, 0.02 : f64>) aliases ["bert.encoder.layer.0.weight", "layer.0.kernel"]
// CHECK-NEXT: transformer.parameter @bias : tensor<4xf32>{{$}}
transformer.parameter @bias : tensor<4xf32>
// CHECK-NEXT: transformer.parameter @gamma : tensor<4xf32> init(<ones>)
transformer.parameter @gamma : tensor<4xf32> init(#transformer.init<ones>)
// CHECK-NEXT: transformer.parameter @linear : tensor<2x2xf32> init(<kaiming_uniform, 2.236000e+00 : f64>)
transformer.parameter @linear : tensor<2x2xf32> init(#transformer.init<kaiming_uniform, 2.236 : f64>)
// CHECK-NEXT: transformer.parameter @words : tensor<3x2xf32> init(<normal, 1.000000e+00 : f64, zero_row = 2>)
transformer.parameter @words : tensor<3x2xf32> init(#transformer.init<normal, 1.0 : f64, zero_row = 2>)
// CHECK-NEXT: transformer.parameter @places : tensor<3x2xf32> init(<sinusoids, 1.000000e+00 : f64>)
transformer.parameter @places : tensor<3x2xf32> init(#transformer.init<sinusoids, 1.0 : f64>)

// CHECK: transformer.prepared @both = @merge(@encoder.layer.0.weight, @encoder.layer.0.weight) : tensor<8x2xf32>
transformer.prepared @both = @merge(@"encoder.layer.0.weight", @"encoder.layer.0.weight") : tensor<8x2xf32>
// CHECK: transformer.prepared @table = @sinusoids() : tensor<3x2xf32>
transformer.prepared @table = @sinusoids() : tensor<3x2xf32>

func.func private @merge(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %0 = tensor.concat dim(0) %a, %b : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

func.func private @sinusoids() -> tensor<3x2xf32> {
  %0 = transformer.sinusoidal_table interleaved : tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func @read
// CHECK: transformer.get_parameter @encoder.layer.0.weight : tensor<4x2xf32>
// CHECK: transformer.get_parameter @both : tensor<8x2xf32>
func.func @read() -> (tensor<4x2xf32>, tensor<8x2xf32>) {
  %w = transformer.get_parameter @"encoder.layer.0.weight" : tensor<4x2xf32>
  %p = transformer.get_parameter @both : tensor<8x2xf32>
  return %w, %p : tensor<4x2xf32>, tensor<8x2xf32>
}

// What an entry point says about its inputs and outputs.
// CHECK: func.func @forward(%{{.*}}: tensor<?x?xi64> {transformer.max_length = 512 : i64, transformer.name = "input_ids", transformer.range = array<i64: 0, 10>}
// CHECK-SAME: transformer.default = #transformer.default<not_equal, "input_ids", 3>
// CHECK-SAME: transformer.default = #transformer.default<columns>
// CHECK-SAME: transformer.dims = ["batch", "decoder_sequence"]
// CHECK-SAME: attributes {transformer.entry}
func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 10>, transformer.max_length = 512 : i64},
                   %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.default = #transformer.default<not_equal, "input_ids", 3>},
                   %positions: tensor<?x?xi64> {transformer.default = #transformer.default<columns>, transformer.dims = ["batch", "decoder_sequence"]}) attributes {transformer.entry} {
  return
}
