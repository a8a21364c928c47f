// A small translator, written by hand: one encoder layer, one decoder layer with
// cross-attention, pre-norm; the logits use the target embedding (tied weights).
// Source and target are packed each for itself, so batches may be ragged in both.
//
//   examples/random_weights.py examples/encoder_decoder.mlir tiny
//   transformer-compile examples/encoder_decoder.mlir -o tiny/translator
//   tiny/translator run --weights tiny/model.safetensors --inputs tiny/inputs.safetensors \
//     --outputs tiny/outputs.safetensors

!rows = tensor<?x24xf32>
!square = tensor<24x24xf32>
!up = tensor<40x24xf32>
!down = tensor<24x40xf32>
!vector = tensor<24xf32>
!hidden = tensor<40xf32>
!source = tensor<60x24xf32>
!target = tensor<50x24xf32>
!seq = !transformer.sequences

transformer.parameter @source.embedding.weight : !source init(<normal, 1.0 : f64>)
transformer.parameter @target.embedding.weight : !target init(<normal, 1.0 : f64>)
transformer.parameter @encoder.self.query.weight : !square init(<xavier_uniform>)
transformer.parameter @encoder.self.query.bias : !vector init(<zeros>)
transformer.parameter @encoder.self.key.weight : !square init(<xavier_uniform>)
transformer.parameter @encoder.self.key.bias : !vector init(<zeros>)
transformer.parameter @encoder.self.value.weight : !square init(<xavier_uniform>)
transformer.parameter @encoder.self.value.bias : !vector init(<zeros>)
transformer.parameter @encoder.self.output.weight : !square init(<xavier_uniform>)
transformer.parameter @encoder.self.output.bias : !vector init(<zeros>)
transformer.parameter @encoder.up.weight : !up init(<xavier_uniform>)
transformer.parameter @encoder.up.bias : !hidden init(<zeros>)
transformer.parameter @encoder.down.weight : !down init(<xavier_uniform>)
transformer.parameter @encoder.down.bias : !vector init(<zeros>)
transformer.parameter @encoder.norm1.weight : !vector init(<ones>)
transformer.parameter @encoder.norm1.bias : !vector init(<zeros>)
transformer.parameter @encoder.norm2.weight : !vector init(<ones>)
transformer.parameter @encoder.norm2.bias : !vector init(<zeros>)
transformer.parameter @decoder.self.query.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.self.query.bias : !vector init(<zeros>)
transformer.parameter @decoder.self.key.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.self.key.bias : !vector init(<zeros>)
transformer.parameter @decoder.self.value.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.self.value.bias : !vector init(<zeros>)
transformer.parameter @decoder.self.output.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.self.output.bias : !vector init(<zeros>)
transformer.parameter @decoder.cross.query.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.cross.query.bias : !vector init(<zeros>)
transformer.parameter @decoder.cross.key.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.cross.key.bias : !vector init(<zeros>)
transformer.parameter @decoder.cross.value.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.cross.value.bias : !vector init(<zeros>)
transformer.parameter @decoder.cross.output.weight : !square init(<xavier_uniform>)
transformer.parameter @decoder.cross.output.bias : !vector init(<zeros>)
transformer.parameter @decoder.up.weight : !up init(<xavier_uniform>)
transformer.parameter @decoder.up.bias : !hidden init(<zeros>)
transformer.parameter @decoder.down.weight : !down init(<xavier_uniform>)
transformer.parameter @decoder.down.bias : !vector init(<zeros>)
transformer.parameter @decoder.norm1.weight : !vector init(<ones>)
transformer.parameter @decoder.norm1.bias : !vector init(<zeros>)
transformer.parameter @decoder.norm2.weight : !vector init(<ones>)
transformer.parameter @decoder.norm2.bias : !vector init(<zeros>)
transformer.parameter @decoder.norm3.weight : !vector init(<ones>)
transformer.parameter @decoder.norm3.bias : !vector init(<zeros>)

func.func @forward(
    %input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 60>,
                                 transformer.max_length = 32 : i64},
    %attention_mask: tensor<?x?xi64> {transformer.name = "attention_mask",
                                      transformer.default = #transformer.default<ones>},
    %decoder_input_ids: tensor<?x?xi64> {transformer.name = "decoder_input_ids",
                                         transformer.range = array<i64: 0, 50>, transformer.max_length = 32 : i64,
                                         transformer.dims = ["batch", "target"]},
    %decoder_attention_mask: tensor<?x?xi64> {transformer.name = "decoder_attention_mask",
                                              transformer.default = #transformer.default<ones>,
                                              transformer.dims = ["batch", "target"]})
    -> (tensor<?x?x50xf32> {transformer.name = "logits", transformer.dims = ["batch", "target"]})
    attributes {transformer.entry} {
  // The encoder; embeddings are scaled by sqrt(24).
  %ids, %seq = transformer.pack_tokens(%input_ids) mask(%attention_mask)
      : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %source = transformer.get_parameter @source.embedding.weight : !source
  %x = transformer.embedding %ids, %source {scale = 4.898979485566356 : f64} : tensor<?xi64>, !source -> !rows
  %wq = transformer.get_parameter @encoder.self.query.weight : !square
  %bq = transformer.get_parameter @encoder.self.query.bias : !vector
  %wk = transformer.get_parameter @encoder.self.key.weight : !square
  %bk = transformer.get_parameter @encoder.self.key.bias : !vector
  %wv = transformer.get_parameter @encoder.self.value.weight : !square
  %bv = transformer.get_parameter @encoder.self.value.bias : !vector
  %wo = transformer.get_parameter @encoder.self.output.weight : !square
  %bo = transformer.get_parameter @encoder.self.output.bias : !vector
  %w1 = transformer.get_parameter @encoder.up.weight : !up
  %b1 = transformer.get_parameter @encoder.up.bias : !hidden
  %w2 = transformer.get_parameter @encoder.down.weight : !down
  %b2 = transformer.get_parameter @encoder.down.bias : !vector
  %g1 = transformer.get_parameter @encoder.norm1.weight : !vector
  %c1 = transformer.get_parameter @encoder.norm1.bias : !vector
  %g2 = transformer.get_parameter @encoder.norm2.weight : !vector
  %c2 = transformer.get_parameter @encoder.norm2.bias : !vector
  %memory = transformer.encoder_layer relu %x sequences(%seq)
      attention(%wq, %bq, %wk, %bk, %wv, %bv, %wo, %bo)
      ffn(%w1, %b1, %w2, %b2) norms(%g1, %c1, %g2, %c2)
      norm<eps = 1.0e-5> {num_heads = 3 : i64, norm_first}
      : (!rows, !seq,
         !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !up, !hidden, !down, !vector,
         !vector, !vector, !vector, !vector) -> !rows

  // The decoder.
  %target_ids, %target_seq = transformer.pack_tokens(%decoder_input_ids) mask(%decoder_attention_mask)
      : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %target = transformer.get_parameter @target.embedding.weight : !target
  %t = transformer.embedding %target_ids, %target {scale = 4.898979485566356 : f64} : tensor<?xi64>, !target -> !rows
  %swq = transformer.get_parameter @decoder.self.query.weight : !square
  %sbq = transformer.get_parameter @decoder.self.query.bias : !vector
  %swk = transformer.get_parameter @decoder.self.key.weight : !square
  %sbk = transformer.get_parameter @decoder.self.key.bias : !vector
  %swv = transformer.get_parameter @decoder.self.value.weight : !square
  %sbv = transformer.get_parameter @decoder.self.value.bias : !vector
  %swo = transformer.get_parameter @decoder.self.output.weight : !square
  %sbo = transformer.get_parameter @decoder.self.output.bias : !vector
  %xwq = transformer.get_parameter @decoder.cross.query.weight : !square
  %xbq = transformer.get_parameter @decoder.cross.query.bias : !vector
  %xwk = transformer.get_parameter @decoder.cross.key.weight : !square
  %xbk = transformer.get_parameter @decoder.cross.key.bias : !vector
  %xwv = transformer.get_parameter @decoder.cross.value.weight : !square
  %xbv = transformer.get_parameter @decoder.cross.value.bias : !vector
  %xwo = transformer.get_parameter @decoder.cross.output.weight : !square
  %xbo = transformer.get_parameter @decoder.cross.output.bias : !vector
  %dw1 = transformer.get_parameter @decoder.up.weight : !up
  %db1 = transformer.get_parameter @decoder.up.bias : !hidden
  %dw2 = transformer.get_parameter @decoder.down.weight : !down
  %db2 = transformer.get_parameter @decoder.down.bias : !vector
  %dg1 = transformer.get_parameter @decoder.norm1.weight : !vector
  %dc1 = transformer.get_parameter @decoder.norm1.bias : !vector
  %dg2 = transformer.get_parameter @decoder.norm2.weight : !vector
  %dc2 = transformer.get_parameter @decoder.norm2.bias : !vector
  %dg3 = transformer.get_parameter @decoder.norm3.weight : !vector
  %dc3 = transformer.get_parameter @decoder.norm3.bias : !vector
  %y = transformer.decoder_layer relu %t sequences(%target_seq) memory(%memory, %seq)
      self_attention(%swq, %sbq, %swk, %sbk, %swv, %sbv, %swo, %sbo)
      cross_attention(%xwq, %xbq, %xwk, %xbk, %xwv, %xbv, %xwo, %xbo)
      ffn(%dw1, %db1, %dw2, %db2) norms(%dg1, %dc1, %dg2, %dc2, %dg3, %dc3)
      norm<eps = 1.0e-5> {num_heads = 3 : i64, norm_first}
      : (!rows, !seq, !rows, !seq,
         !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !up, !hidden, !down, !vector,
         !vector, !vector, !vector, !vector, !vector, !vector) -> !rows

  %logits = transformer.linear %y, %target out_in : !rows, !target -> tensor<?x50xf32>
  %grid = transformer.unpack_tokens %logits, %target_seq : tensor<?x50xf32> -> tensor<?x?x50xf32>
  return %grid : tensor<?x?x50xf32>
}
