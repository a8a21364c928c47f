// A small sentence encoder, written by hand: token embeddings plus sinusoidal
// positions, a norm, and two post-norm layers that share their weights, as
// ALBERT's do. `forward` gives a vector a token and the vector of each first token.
//
//   examples/random_weights.py examples/encoder.mlir tiny
//   transformer-compile examples/encoder.mlir -o tiny/encoder
//   tiny/encoder run --weights tiny/model.safetensors --inputs tiny/inputs.safetensors \
//     --outputs tiny/outputs.safetensors

!rows = tensor<?x32xf32>     // one row a token, the padding dropped
!square = tensor<32x32xf32>  // [out, in], as in torch.nn.Linear
!up = tensor<64x32xf32>
!down = tensor<32x64xf32>
!vector = tensor<32xf32>
!hidden = tensor<64xf32>
!seq = !transformer.sequences

// The names are those of the tensors in the weights file.
transformer.parameter @embedding.weight : tensor<100x32xf32> init(<normal, 1.0 : f64>)
transformer.parameter @embedding.norm.weight : !vector init(<ones>)
transformer.parameter @embedding.norm.bias : !vector init(<zeros>)
transformer.parameter @layer.query.weight : !square init(<xavier_uniform>)
transformer.parameter @layer.query.bias : !vector init(<zeros>)
transformer.parameter @layer.key.weight : !square init(<xavier_uniform>)
transformer.parameter @layer.key.bias : !vector init(<zeros>)
transformer.parameter @layer.value.weight : !square init(<xavier_uniform>)
transformer.parameter @layer.value.bias : !vector init(<zeros>)
transformer.parameter @layer.output.weight : !square init(<xavier_uniform>)
transformer.parameter @layer.output.bias : !vector init(<zeros>)
transformer.parameter @layer.norm1.weight : !vector init(<ones>)
transformer.parameter @layer.norm1.bias : !vector init(<zeros>)
transformer.parameter @layer.up.weight : !up init(<xavier_uniform>)
transformer.parameter @layer.up.bias : !hidden init(<zeros>)
transformer.parameter @layer.down.weight : !down init(<xavier_uniform>)
transformer.parameter @layer.down.bias : !vector init(<zeros>)
transformer.parameter @layer.norm2.weight : !vector init(<ones>)
transformer.parameter @layer.norm2.bias : !vector init(<zeros>)

func.func private @layer(
    %x: !rows, %seq: !seq,
    %wq: !square, %bq: !vector, %wk: !square, %bk: !vector,
    %wv: !square, %bv: !vector, %wo: !square, %bo: !vector,
    %w1: !up, %b1: !hidden, %w2: !down, %b2: !vector,
    %g1: !vector, %c1: !vector, %g2: !vector, %c2: !vector) -> !rows {
  %y = transformer.encoder_layer gelu %x sequences(%seq)
      attention(%wq, %bq, %wk, %bk, %wv, %bv, %wo, %bo)
      ffn(%w1, %b1, %w2, %b2) norms(%g1, %c1, %g2, %c2) norm<eps = 1.0e-5> {num_heads = 4 : i64}
      : (!rows, !seq, !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !up, !hidden, !down, !vector, !vector, !vector, !vector, !vector) -> !rows
  return %y : !rows
}

// The attributes say how the runtime checks inputs and makes missing ones.
func.func @forward(
    %input_ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 100>,
                                 transformer.max_length = 64 : i64},
    %attention_mask: tensor<?x?xi64> {transformer.name = "attention_mask",
                                      transformer.default = #transformer.default<ones>},
    %position_ids: tensor<?x?xi64> {transformer.name = "position_ids", transformer.range = array<i64: 0, 64>,
                                    transformer.default = #transformer.default<columns>})
    -> (tensor<?x?x32xf32> {transformer.name = "last_hidden_state"},
        tensor<?x32xf32> {transformer.name = "first_token", transformer.dims = ["batch"]})
    attributes {transformer.entry} {
  %ids, %positions, %seq = transformer.pack_tokens(%input_ids, %position_ids) mask(%attention_mask)
      : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>

  %table = transformer.get_parameter @embedding.weight : tensor<100x32xf32>
  %tokens = transformer.embedding %ids, %table : tensor<?xi64>, tensor<100x32xf32> -> !rows
  %places = transformer.sinusoidal_position %positions interleaved max_positions 64 : tensor<?xi64> -> !rows
  %sum = arith.addf %tokens, %places : !rows
  %g0 = transformer.get_parameter @embedding.norm.weight : !vector
  %c0 = transformer.get_parameter @embedding.norm.bias : !vector
  %x = transformer.layer_norm %sum, %g0, %c0 norm<eps = 1.0e-5> : !rows, !vector, !vector -> !rows

  %wq = transformer.get_parameter @layer.query.weight : !square
  %bq = transformer.get_parameter @layer.query.bias : !vector
  %wk = transformer.get_parameter @layer.key.weight : !square
  %bk = transformer.get_parameter @layer.key.bias : !vector
  %wv = transformer.get_parameter @layer.value.weight : !square
  %bv = transformer.get_parameter @layer.value.bias : !vector
  %wo = transformer.get_parameter @layer.output.weight : !square
  %bo = transformer.get_parameter @layer.output.bias : !vector
  %w1 = transformer.get_parameter @layer.up.weight : !up
  %b1 = transformer.get_parameter @layer.up.bias : !hidden
  %w2 = transformer.get_parameter @layer.down.weight : !down
  %b2 = transformer.get_parameter @layer.down.bias : !vector
  %g1 = transformer.get_parameter @layer.norm1.weight : !vector
  %c1 = transformer.get_parameter @layer.norm1.bias : !vector
  %g2 = transformer.get_parameter @layer.norm2.weight : !vector
  %c2 = transformer.get_parameter @layer.norm2.bias : !vector
  %h = call @layer(%x, %seq, %wq, %bq, %wk, %bk, %wv, %bv, %wo, %bo, %w1, %b1, %w2, %b2, %g1, %c1, %g2, %c2)
      {transformer.scope = "layer.0"}
      : (!rows, !seq, !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !up, !hidden, !down, !vector, !vector, !vector, !vector, !vector) -> !rows
  %y = call @layer(%h, %seq, %wq, %bq, %wk, %bk, %wv, %bv, %wo, %bo, %w1, %b1, %w2, %b2, %g1, %c1, %g2, %c2)
      {transformer.scope = "layer.1"}
      : (!rows, !seq, !square, !vector, !square, !vector, !square, !vector, !square, !vector,
         !up, !hidden, !down, !vector, !vector, !vector, !vector, !vector) -> !rows

  %states = transformer.unpack_tokens %y, %seq : !rows -> tensor<?x?x32xf32>
  %first = transformer.first_token %y, %seq : !rows -> tensor<?x32xf32>
  return %states, %first : tensor<?x?x32xf32>, tensor<?x32xf32>
}
