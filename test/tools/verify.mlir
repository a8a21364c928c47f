// REQUIRES: transformer-verify
// RUN: transformer-verify %s --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefix=AGREE
// RUN: transformer-verify %s --weights-dtype int8 --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefixes=AGREE,ROUNDED
// RUN: transformer-verify %s --entry words,forward --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefix=ENTRIES
// RUN: not transformer-verify %s --weights-dtype f7 --weights %t.none --inputs %t.none 2>&1 | FileCheck %s --check-prefix=FORMAT
// With a bound of 0 the first rounding counts: the embedding is exact, the layer's linear is not.
// RUN: not transformer-verify %s --bound 0 --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefix=DIFFER
// A floor goes with the largest of all outputs.
// RUN: transformer-verify %s --bound 0 --floor 1e-6 --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefix=AGREE
// RUN: not transformer-verify %s --bound 0 --floor 1e-9 --weights %source_root/test/golden/bert-model --inputs %source_root/test/golden/bert-model/inputs_holes.safetensors | FileCheck %s --check-prefix=DIFFER
// RUN: not transformer-verify %s --weights %t.none --inputs %t.none 2>&1 | FileCheck %s --check-prefix=ERROR

// AGREE: last_hidden_state: largest error {{.*}}e-0{{[789]}}, largest value
// ROUNDED-NEXT: last_hidden_state against float32 weights, int8: largest error {{.*}}e-0{{[1234]}}
// ROUNDED-NEXT: last_hidden_state against float32 weights, f32: largest error {{.*}}e-0{{[789]}}
// AGREE-NOT: first difference
// ENTRIES: @words
// ENTRIES-NEXT: words: largest error 0.00e+00, largest value
// ENTRIES-NEXT: @forward
// ENTRIES-NEXT: last_hidden_state: largest error {{.*}}e-0{{[789]}}, largest value
// FORMAT: error: --weights-dtype f7: expected f32, bf16, f16, int8 or int4
// DIFFER: first difference: block.0: transformer.linear: largest error
// DIFFER-NEXT: transformer.linear
// ERROR: error: {{.*}}.none

transformer.parameter @embeddings.word_embeddings.weight : tensor<51x20xf32>
transformer.parameter @pooler.dense.weight : tensor<20x20xf32>

func.func private @block(%x: tensor<?x20xf32>, %seq: !transformer.sequences, %w: tensor<20x20xf32>) -> tensor<?x20xf32> {
  %copy = arith.addf %x, %x : tensor<?x20xf32>
  %0 = transformer.linear %copy, %w out_in : tensor<?x20xf32>, tensor<20x20xf32> -> tensor<?x20xf32>
  %1 = transformer.activation tanh %0 : tensor<?x20xf32>
  return %1 : tensor<?x20xf32>
}

func.func @forward(%ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"},
                   %types: tensor<?x?xi64> {transformer.name = "token_type_ids", transformer.default = #transformer.default<zeros>})
    -> (tensor<?x?x20xf32> {transformer.name = "last_hidden_state"}) attributes {transformer.entry} {
  %words = transformer.get_parameter @embeddings.word_embeddings.weight : tensor<51x20xf32>
  %w = transformer.get_parameter @pooler.dense.weight : tensor<20x20xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %e = transformer.embedding %i, %words : tensor<?xi64>, tensor<51x20xf32> -> tensor<?x20xf32>
  %0 = call @block(%e, %seq, %w) {transformer.scope = "block.0"} : (tensor<?x20xf32>, !transformer.sequences, tensor<20x20xf32>) -> tensor<?x20xf32>
  %1 = call @block(%0, %seq, %w) {transformer.scope = "block.1"} : (tensor<?x20xf32>, !transformer.sequences, tensor<20x20xf32>) -> tensor<?x20xf32>
  %y = transformer.unpack_tokens %1, %seq : tensor<?x20xf32> -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}

func.func @words(%ids: tensor<?x?xi64> {transformer.name = "input_ids"}, %mask: tensor<?x?xi64> {transformer.name = "attention_mask"},
                 %types: tensor<?x?xi64> {transformer.name = "token_type_ids", transformer.default = #transformer.default<zeros>})
    -> (tensor<?x?x20xf32> {transformer.name = "words"}) attributes {transformer.entry} {
  %words = transformer.get_parameter @embeddings.word_embeddings.weight : tensor<51x20xf32>
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %e = transformer.embedding %i, %words : tensor<?xi64>, tensor<51x20xf32> -> tensor<?x20xf32>
  %y = transformer.unpack_tokens %e, %seq : tensor<?x20xf32> -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}
