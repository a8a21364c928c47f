// RUN: transformer-opt %s --verify-diagnostics --transformer-add-lora
// RUN: transformer-opt %s --verify-diagnostics --transformer-merge-lora

// A tied table: an adapter would be of the head alone.
// expected-error @below {{transformer.lora: target wte.weight is the weight of a linear layer, and read by transformer.embedding, too}}
module attributes {transformer.lora = #transformer.lora<rank = 2, alpha = 4.0, targets = ["wte"]>} {
  transformer.parameter @wte.weight : tensor<16x8xf32>

  func.func private @head(%x: tensor<?x8xf32>, %w: tensor<16x8xf32>) -> tensor<?x16xf32> {
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }

  func.func @forward(%ids: tensor<?xi64>) -> tensor<?x16xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @wte.weight : tensor<16x8xf32>
    %x = transformer.embedding %ids, %w : tensor<?xi64>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = call @head(%x, %w) : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
}
