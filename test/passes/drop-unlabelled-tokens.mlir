// RUN: transformer-opt %s --split-input-file --transformer-drop-unlabelled-tokens | FileCheck %s

// In front of norm and head; the tokens' own sequences are known, so those of the labels are gone.
// CHECK-LABEL: func.func @next_token(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<?x?xi64>, %[[MASK:[^:]*]]: tensor<?x?xi64>, %[[LABELS:[^:]*]]: tensor<?x?xi64>
// CHECK: transformer.pack_tokens(%[[IDS]]) mask(%[[MASK]])
// CHECK: %[[OWN:.*]], %[[SPANS:.*]] = transformer.labelled_tokens %[[LABELS]], %{{.*}} mask(%[[MASK]]) {padding_index = 3 : i64, shifted}
// CHECK: %[[X:.*]] = transformer.embedding
// CHECK: %[[ROWS:.*]] = transformer.first_token %[[X]], %[[SPANS]]
// CHECK: %[[NORM:.*]] = transformer.layer_norm %[[ROWS]]
// CHECK: %[[Y:.*]] = transformer.linear %[[NORM]]
// CHECK-NOT: transformer.pack_tokens
// CHECK: transformer.cross_entropy %[[Y]], %[[OWN]] {label_smoothing = 1.000000e-01 : f64, padding_index = 3 : i64}
func.func @next_token(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64>, %w: tensor<50x8xf32>, %g: tensor<8xf32>) -> tensor<f32> {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %w : tensor<?xi64>, tensor<50x8xf32> -> tensor<?x8xf32>
  %n = transformer.layer_norm %x, %g, %g norm<eps = 1.0e-5> : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %n, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %next = transformer.shift_labels %labels : tensor<?x?xi64>
  %l, %0 = transformer.pack_tokens(%next) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %loss = transformer.cross_entropy %y, %l {label_smoothing = 0.1 : f64, padding_index = 3 : i64} : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Rows that something else reads, too, are chosen behind what makes them.
// CHECK-LABEL: func.func @read(
// CHECK: %[[OWN:.*]], %[[SPANS:.*]] = transformer.labelled_tokens %{{.*}}, %{{.*}} mask(%{{.*}}) :
// CHECK: %[[H:.*]] = transformer.linear
// CHECK: %[[ROWS:.*]] = transformer.first_token %[[H]], %[[SPANS]]
// CHECK: %[[Y:.*]] = transformer.linear %[[ROWS]]
// CHECK: transformer.cross_entropy %[[Y]], %[[OWN]]
// CHECK: transformer.unpack_tokens %[[H]]
func.func @read(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64>, %w: tensor<50x8xf32>) -> (tensor<f32>, tensor<?x?x50xf32>) {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %w : tensor<?xi64>, tensor<50x8xf32> -> tensor<?x8xf32>
  %h = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %y = transformer.linear %h, %w in_out : tensor<?x50xf32>, tensor<50x8xf32> -> tensor<?x8xf32>
  %l, %0 = transformer.pack_tokens(%labels) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %loss = transformer.cross_entropy %y, %l : tensor<?x8xf32>, tensor<?xi64> -> tensor<f32>
  %all = transformer.unpack_tokens %h, %seq : tensor<?x50xf32> -> tensor<?x?x50xf32>
  return %loss, %all : tensor<f32>, tensor<?x?x50xf32>
}

// -----

// Left alone: labels that are computed, since sizes follow from them, a class of each sequence, and
// rows that are made before it is known which tokens there are, or that are read elsewhere.
// CHECK-LABEL: func.func @computed(
// CHECK-NOT: transformer.labelled_tokens
// CHECK-LABEL: func.func @class(
// CHECK-NOT: transformer.labelled_tokens
// CHECK-LABEL: func.func @before(
// CHECK: %[[Y:.*]] = transformer.linear
// CHECK: %[[L:.*]], %{{.*}} = transformer.pack_tokens
// CHECK-NEXT: transformer.cross_entropy %[[Y]], %[[L]]
// CHECK-LABEL: func.func @given(
// CHECK-SAME: %[[GIVEN:[^:]*]]: tensor<?x8xf32>
// CHECK: %[[L:.*]], %{{.*}} = transformer.pack_tokens
// CHECK-NEXT: transformer.cross_entropy %[[GIVEN]], %[[L]]
func.func @computed(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64>, %w: tensor<50x8xf32>) -> tensor<f32> {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %w : tensor<?xi64>, tensor<50x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %next = transformer.shift_labels %labels : tensor<?x?xi64>
  %behind = transformer.shift_labels %next : tensor<?x?xi64>
  %l, %0 = transformer.pack_tokens(%behind) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %loss = transformer.cross_entropy %y, %l : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @class(%x: tensor<?x8xf32>, %labels: tensor<?xi64>, %w: tensor<50x8xf32>) -> tensor<f32> {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %loss = transformer.cross_entropy %y, %labels : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @before(%x: tensor<?x8xf32>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64>, %w: tensor<50x8xf32>) -> tensor<f32> {
  %y = transformer.linear %x, %w out_in : tensor<?x8xf32>, tensor<50x8xf32> -> tensor<?x50xf32>
  %l, %0 = transformer.pack_tokens(%labels) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %loss = transformer.cross_entropy %y, %l : tensor<?x50xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @given(%x: tensor<?x8xf32>, %mask: tensor<?x?xi64>, %labels: tensor<?x?xi64>) -> tensor<f32> {
  %l, %0 = transformer.pack_tokens(%labels) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %loss = transformer.cross_entropy %x, %l : tensor<?x8xf32>, tensor<?xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
