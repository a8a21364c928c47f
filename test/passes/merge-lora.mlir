// RUN: transformer-opt %s --split-input-file --verify-diagnostics --transformer-merge-lora | FileCheck %s

module attributes {transformer.lora = #transformer.lora<rank = 2, alpha = 4.0, targets = ["q", "k"]>} {
  transformer.parameter @a.q.weight : tensor<16x8xf32>
  transformer.parameter @d.k.weight : tensor<16x4xf32>
  func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<16x8xf32>) -> tensor<?x16xf32> {
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
  // CHECK-LABEL: func.func @forward(
  // CHECK: %[[W:.*]] = transformer.get_parameter @a.q.weight
  // CHECK: %[[A:.*]] = transformer.get_parameter @a.q.lora_A.weight : tensor<2x8xf32>
  // CHECK: %[[B:.*]] = transformer.get_parameter @a.q.lora_B.weight : tensor<16x2xf32>
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[B]],
  // CHECK: %[[BA:.*]] = transformer.linear %[[SCALED]], %[[A]] in_out : tensor<16x2xf32>, tensor<2x8xf32> -> tensor<16x8xf32>
  // CHECK: %[[MERGED:.*]] = arith.addf %[[W]], %[[BA]]
  // CHECK: %[[V:.*]] = transformer.get_parameter @d.k.weight
  // CHECK: %[[C:.*]] = transformer.get_parameter @d.k.lora_A.weight : tensor<2x16xf32>
  // CHECK: %[[D:.*]] = transformer.get_parameter @d.k.lora_B.weight : tensor<4x2xf32>
  // CHECK: %[[SCALED_D:.*]] = arith.mulf %[[D]],
  // CHECK: %[[CT:.*]] = linalg.transpose ins(%[[C]] : tensor<2x16xf32>)
  // CHECK: %[[CD:.*]] = transformer.linear %[[CT]], %[[SCALED_D]] out_in : tensor<16x2xf32>, tensor<4x2xf32> -> tensor<16x4xf32>
  // CHECK: %[[OTHER:.*]] = arith.addf %[[V]], %[[CD]]
  // CHECK: call @layer(%{{.*}}, %[[MERGED]])
  // CHECK: transformer.linear %{{.*}}, %[[OTHER]] in_out
  func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x4xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @a.q.weight : tensor<16x8xf32>
    %v = transformer.get_parameter @d.k.weight : tensor<16x4xf32>
    %0 = call @layer(%x, %w) : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %1 = transformer.linear %0, %v in_out : tensor<?x16xf32>, tensor<16x4xf32> -> tensor<?x4xf32>
    return %1 : tensor<?x4xf32>
  }
}

// -----

// expected-error @below {{target "v" names no linear layer; its matrices are of q}}
module attributes {transformer.lora = #transformer.lora<rank = 2, alpha = 4.0, targets = ["v"]>} {
  transformer.parameter @q.weight : tensor<16x8xf32>
  func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x16xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @q.weight : tensor<16x8xf32>
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
}
