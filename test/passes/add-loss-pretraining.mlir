// RUN: transformer-opt %s --transformer-add-loss --canonicalize | FileCheck %s
// RUN: sed 's/objective<next_sentence, padding = 0>/objective<sentence_order>/; s/seq_relationship_logits/sop_logits/' %s | transformer-opt --transformer-add-loss --canonicalize | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/objective<next_sentence, padding = 0>/objective<replaced_token>/; s/"prediction_logits"/"logits"/; s/9x8xf32/1x8xf32/; s/?x9xf32/?x1xf32/g' %s | transformer-opt --transformer-add-loss --canonicalize | FileCheck %s --check-prefix=REPLACED
// RUN: sed 's/seq_relationship_logits/sop_logits/' %s | not transformer-opt --transformer-add-loss 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: has no @forward with an output "seq_relationship_logits", a row of scores for each sequence

transformer.parameter @words : tensor<9x8xf32>
transformer.parameter @pair : tensor<2x8xf32>
transformer.parameter @e : tensor<30x8xf32>

// The padding id is one of tokens.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[L:[^:]*]]: tensor<?x?xi64> {transformer.ignored = -100 : i64, transformer.name = "labels", transformer.range = array<i64: 0, 9>},
// CHECK-SAME: %[[N:[^:]*]]: tensor<?xi64> {transformer.dims = ["batch"], transformer.ignored = -100 : i64, transformer.name = "next_sentence_label", transformer.range = array<i64: 0, 2>}) -> (tensor<f32> {transformer.name = "loss"})
// CHECK: %[[P:.*]], %{{.*}} = transformer.pack_tokens(%[[L]])
// CHECK: %[[WORDS:.*]] = transformer.cross_entropy %{{.*}}, %[[P]] {padding_index = 0 : i64} : tensor<?x9xf32>
// CHECK: %[[PAIR:.*]] = transformer.cross_entropy %{{.*}}, %[[N]] : tensor<?x2xf32>
// CHECK: %[[LOSS:.*]] = arith.addf %[[WORDS]], %[[PAIR]] : tensor<f32>
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
// ORDER-LABEL: func.func @loss(
// ORDER-SAME: "labels"
// ORDER-SAME: "sentence_order_label"
// ORDER-COUNT-2: transformer.cross_entropy
// REPLACED-LABEL: func.func @loss(
// REPLACED-SAME: %[[L:[^:]*]]: tensor<?x?xi64> {transformer.name = "labels", transformer.range = array<i64: 0, 2>}) -> (tensor<f32> {transformer.name = "loss"})
// REPLACED: %[[P:.*]], %{{.*}} = transformer.pack_tokens(%[[L]])
// REPLACED: transformer.element_loss binary_cross_entropy %{{.*}}, %[[P]] : tensor<?x1xf32>, tensor<?xi64> -> tensor<f32>
func.func @forward(%ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>)
    -> (tensor<?x?x9xf32> {transformer.name = "prediction_logits"}, tensor<?x2xf32> {transformer.name = "seq_relationship_logits"})
    attributes {transformer.objective = #transformer.objective<next_sentence, padding = 0>} {
  %e = transformer.get_parameter @e : tensor<30x8xf32>
  %words = transformer.get_parameter @words : tensor<9x8xf32>
  %pair = transformer.get_parameter @pair : tensor<2x8xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.embedding %i, %e : tensor<?xi64>, tensor<30x8xf32> -> tensor<?x8xf32>
  %y = transformer.linear %x, %words out_in : tensor<?x8xf32>, tensor<9x8xf32> -> tensor<?x9xf32>
  %0 = transformer.unpack_tokens %y, %seq : tensor<?x9xf32> -> tensor<?x?x9xf32>
  %f = transformer.first_token %x, %seq : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = transformer.linear %f, %pair out_in : tensor<?x8xf32>, tensor<2x8xf32> -> tensor<?x2xf32>
  return %0, %1 : tensor<?x?x9xf32>, tensor<?x2xf32>
}
