// RUN: transformer-opt %s --split-input-file --verify-diagnostics --transformer-add-lora | FileCheck %s

// Two calls with the same targets share a copy of the layer, one with others has its own; who is
// no target stays as it is.
module attributes {transformer.lora = #transformer.lora<rank = 2, alpha = 4.0, targets = ["q", "k"]>} {
  // CHECK: transformer.parameter frozen @a.q.weight
  // CHECK: transformer.parameter @a.q.lora_A.weight : tensor<2x8xf32> init(<kaiming_uniform, 2.23606{{.*}}>) aliases ["base_model.model.a.q.lora_A.weight"]
  // CHECK: transformer.parameter @a.q.lora_B.weight : tensor<16x2xf32> init(<zeros>) aliases ["base_model.model.a.q.lora_B.weight"]
  transformer.parameter @a.q.weight : tensor<16x8xf32>
  transformer.parameter @b.q.weight : tensor<16x8xf32>
  transformer.parameter @c.o.weight : tensor<16x8xf32>
  // CHECK: transformer.parameter frozen @d.k.weight
  transformer.parameter @d.k.weight : tensor<16x4xf32>

  // CHECK-LABEL: func.func private @layer(
  // CHECK-SAME: tensor<16x8xf32>) -> tensor<?x16xf32>
  // CHECK-NEXT: linear
  // CHECK-NEXT: return
  // CHECK-LABEL: func.func private @layer_lora(
  // CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<16x8xf32>, %[[A:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<16x2xf32>)
  // CHECK: %[[Y:.*]] = transformer.linear %[[X]], %[[W]]
  // CHECK: %[[DOWN:.*]] = transformer.linear %[[X]], %[[A]] out_in
  // CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<16x2xf32>
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[B]], %[[TWO]]
  // CHECK: %[[UP:.*]] = transformer.linear %[[DOWN]], %[[SCALED]] out_in
  // CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[UP]]
  // CHECK: return %[[SUM]]
  func.func private @layer(%x: tensor<?x8xf32>, %w: tensor<16x8xf32>) -> tensor<?x16xf32> {
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }

  // CHECK-LABEL: func.func @forward(
  // CHECK-DAG: %[[AA:.*]] = transformer.get_parameter @a.q.lora_A.weight
  // CHECK-DAG: %[[AB:.*]] = transformer.get_parameter @a.q.lora_B.weight
  // CHECK-DAG: %[[BA:.*]] = transformer.get_parameter @b.q.lora_A.weight
  // CHECK-DAG: %[[BB:.*]] = transformer.get_parameter @b.q.lora_B.weight
  // CHECK-DAG: %[[KA:.*]] = transformer.get_parameter @d.k.lora_A.weight : tensor<2x16xf32>
  // CHECK: call @layer_lora(%{{.*}}, %{{.*}}, %[[AA]], %[[AB]])
  // CHECK: call @layer_lora(%{{.*}}, %{{.*}}, %[[BA]], %[[BB]])
  // CHECK: call @layer(%{{[^,]*}}, %{{[^,]*}}) :
  // CHECK: transformer.linear %{{.*}}, %{{.*}} in_out
  // CHECK: transformer.linear %{{.*}}, %[[KA]] out_in : tensor<?x16xf32>, tensor<2x16xf32> -> tensor<?x2xf32>
  func.func @forward(%x: tensor<?x8xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>) attributes {transformer.entry} {
    %a = transformer.get_parameter @a.q.weight : tensor<16x8xf32>
    %b = transformer.get_parameter @b.q.weight : tensor<16x8xf32>
    %c = transformer.get_parameter @c.o.weight : tensor<16x8xf32>
    %d = transformer.get_parameter @d.k.weight : tensor<16x4xf32>
    %0 = call @layer(%x, %a) : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %1 = call @layer(%x, %b) : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %2 = call @layer(%x, %c) : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %3 = arith.addf %0, %1 : tensor<?x16xf32>
    %4 = transformer.linear %3, %d in_out : tensor<?x16xf32>, tensor<16x4xf32> -> tensor<?x4xf32>
    return %3, %2, %4 : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>
  }
}

// -----

// Dropout is of the adapter's input alone, and a scale of 1 is none.
module attributes {transformer.lora = #transformer.lora<rank = 4, alpha = 4.0, dropout = 0.25, targets = ["a.q"]>} {
  transformer.parameter @a.q.weight : tensor<16x8xf32>
  // CHECK-LABEL: func.func @forward(
  // CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
  // CHECK: transformer.linear %[[X]],
  // CHECK: %[[DROPPED:.*]] = transformer.dropout %[[X]] rate 2.500000e-01
  // CHECK: transformer.linear %[[DROPPED]],
  // CHECK-NOT: mulf
  func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x16xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @a.q.weight : tensor<16x8xf32>
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
}

// -----

// expected-error @below {{transformer.lora: target "query" names no linear layer; its matrices are of q, words}}
module attributes {transformer.lora = #transformer.lora<rank = 4, alpha = 4.0, targets = ["q", "query"]>} {
  transformer.parameter @words.weight : tensor<9x8xf32>
  transformer.parameter @a.q.weight : tensor<16x8xf32>
  func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x16xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @a.q.weight : tensor<16x8xf32>
    %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    return %y : tensor<?x16xf32>
  }
}

// -----

// A table of embeddings is no linear layer.
// expected-error @below {{target "words" names no linear layer}}
module attributes {transformer.lora = #transformer.lora<rank = 4, alpha = 4.0, targets = ["words"]>} {
  transformer.parameter @words.weight : tensor<9x8xf32>
  func.func @forward(%ids: tensor<?xi64>) -> tensor<?x8xf32> attributes {transformer.entry} {
    %w = transformer.get_parameter @words.weight : tensor<9x8xf32>
    %y = transformer.embedding %ids, %w : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}

// -----

// expected-error @below {{expected a rank of 1 or more, found 0}}
module attributes {transformer.lora = #transformer.lora<rank = 0, alpha = 4.0, targets = ["q"]>} {}

// -----

// expected-error @below {{expected names of modules as targets}}
module attributes {transformer.lora = #transformer.lora<rank = 1, alpha = 4.0, targets = []>} {}
